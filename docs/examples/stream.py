import json
import os

import httpx

with httpx.Client(
    base_url=os.environ["MAILSEARCH_URL"],
    headers={"Authorization": f"Bearer {os.environ['MAILSEARCH_KEY']}"},
    timeout=30,
) as client:
    question = {"query": "What does Nordlicht pay while the Golf is in the garage?", "mode": "agentic", "stream": True}
    with client.stream("POST", "/v1/search", json=question) as response:
        if response.status_code != 200:
            raise SystemExit(response.read().decode())
        event = ""
        for line in response.iter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                data = json.loads(value)
                print(event, data.get("phase", ""), data.get("outcome", ""))
