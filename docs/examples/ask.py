import os

import httpx

with httpx.Client(
    base_url=os.environ["MAILSEARCH_URL"],
    headers={"Authorization": f"Bearer {os.environ['MAILSEARCH_KEY']}"},
    timeout=130,
) as client:
    response = client.post(
        "/v1/search",
        json={"query": "Did Nordlicht accept liability for the damage to the Golf?", "mode": "agentic"},
        # The same key gives the same run again, so a request that was cut off can be sent once more.
        headers={"Idempotency-Key": os.urandom(8).hex()},
    )
    if response.status_code == 429:
        raise SystemExit(f"Ask again in {response.headers['Retry-After']} s.")
    response.raise_for_status()
    body = response.json()
    print(body["outcome"])
    for sentence in body["answer"]["sentences"] if body["answer"] else []:
        cited = sentence["citations"][0]
        print(f"{sentence['text']} [{sentence['support']}] “{cited['quote']}” {cited['from']['address']}")
