import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def tell(progress: float, total: float | None, message: str | None) -> None:
    print(f"{progress:.0f} {message}")


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['MAILSEARCH_KEY']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=130) as http,
        Client(streamable_http_client(f"{os.environ['MAILSEARCH_URL']}/mcp", http_client=http)) as client,
    ):
        question = {"query": "Did Nordlicht accept liability for the damage to the Golf?", "budget": {"max_steps": 4}}
        result = await client.call_tool("ask_mail", question, progress_callback=tell)
        print(result.structured_content["outcome"])
        print(result.content[0].text)


asyncio.run(main())
