import os

import httpx
from httpx_sse import connect_sse

headers = {"Authorization": f"Bearer {os.environ['MAILSEARCH_KEY']}"}
with httpx.Client(base_url=os.environ["MAILSEARCH_URL"], headers=headers, timeout=30) as client:
    question = {"query": "What does Nordlicht pay while the Golf is in the garage?", "mode": "agentic", "stream": True}
    with connect_sse(client, "POST", "/v1/search", json=question) as stream:
        first = next(stream.iter_sse())
    # The connection is cut here, but the run goes on: its other events are read from where the first one was.
    run = first.json()["run_id"]
    last = {"Last-Event-ID": first.id}
    with connect_sse(client, "GET", f"/v1/runs/{run}/events", headers=last) as stream:
        for event in stream.iter_sse():
            print(event.id, event.event)
    print(event.json()["outcome"])
