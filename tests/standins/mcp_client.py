"""The official MCP client over real HTTP, as an agent's host uses it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

Result = TypeVar("Result")
# The protocol with a handshake that older hosts speak, and the one without.
ERAS = ("legacy", "auto")


@asynccontextmanager
async def connected(url: str, headers: dict[str, str], mode: str = "auto") -> AsyncIterator[Client]:
    """A client that has said hello to the server at *url*."""
    http = httpx2.AsyncClient(headers=headers, timeout=60)
    async with http, Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client:
        yield client


def speak(url: str, headers: dict[str, str], what: Callable[[Client], Awaitable[Result]], mode: str = "auto") -> Result:
    """Connect, do *what*, and leave."""

    async def spoken() -> Result:
        async with connected(url, headers, mode) as client:
            return await what(client)

    return asyncio.run(spoken())


def call(url: str, headers: dict[str, str], tool: str, mode: str = "auto", **arguments: Any) -> CallToolResult:
    """The result of one call of *tool*."""
    return speak(url, headers, lambda client: client.call_tool(tool, arguments), mode)


def text_of(result: CallToolResult) -> str:
    """What a model reads of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def post(url: str, headers: dict[str, str], tool: str, arguments: dict[str, Any], **more: Any) -> httpx.Response:
    """One call as a bare request of the older protocol, for what the client would not send or show."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    return httpx.post(f"{url}/mcp", json=body, headers={**accept, **headers}, timeout=60, **more)


def result_in(response: httpx.Response) -> dict[str, Any]:
    """The result in a response to `post`."""
    (line,) = [line for line in response.text.splitlines() if line.startswith("data: {")]
    result: dict[str, Any] = json.loads(line.removeprefix("data: "))["result"]
    return result
