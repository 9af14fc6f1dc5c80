"""Every address of the API, with what to send to it and what it needs: for tests that go over all of them."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.agentic.asking import QUESTION
from tests.agentic.cast import House

MAIL = b"From: a@x.example\r\nTo: b@y.example\r\nSubject: Hello\r\nMessage-ID: <1@x.example>\r\n\r\nHello there.\r\n"
ASK = {"query": QUESTION, "mode": "agentic", "budget": {"max_steps": 1}}
OWN = "own"


@dataclass(frozen=True)
class Address:
    """One address and method. `needs` are permissions, all of them; OWN is a run that the caller started."""

    method: str
    path: str
    needs: tuple[str, ...] = ()
    gives: int = 200
    body: Any = None
    content: bytes | None = None
    name: str = ""

    @property
    def shown(self) -> str:
        return self.name or f"{self.method} {self.path.partition('?')[0]}"

    def send(self, client: httpx.Client, ids: Mapping[str, str]) -> tuple[int, str]:
        """The status and the text that it is answered with."""
        path = self.path.format_map(ids)
        headers = {"Prefer": "respond-async"}
        if self.content is not None:
            headers["Content-Type"] = "message/rfc822"
            # New each time: what is there already is answered otherwise.
            content = self.content + secrets.token_hex(8).encode()
            response = client.request(self.method, path, content=content, headers=headers)
        else:
            response = client.request(self.method, path, json=self.body, headers=headers)
        return response.status_code, response.text


@dataclass(frozen=True)
class Tool(Address):
    """A tool over MCP. What it refuses holds the status that the API would answer with."""

    @property
    def shown(self) -> str:
        return f"tool `{self.name}`"

    def send(self, client: httpx.Client, ids: Mapping[str, str]) -> tuple[int, str]:
        arguments = json.loads(json.dumps(self.body) % ids) if ids else self.body
        call = {"name": self.name, "arguments": arguments}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        response = client.post(
            "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, headers=headers
        )
        if response.status_code != 200:
            return response.status_code, response.text
        lines = [line[5:] for line in response.text.splitlines() if line.startswith("data:")] or [response.text]
        result = json.loads(lines[-1])["result"]
        return (int(result["structuredContent"]["status"]) if result.get("isError") else 200), json.dumps(result)


READ = ("search:read",)
ADDRESSES = (
    Address("POST", "/v1/search", READ, body={"query": "golf", "mode": "keyword"}, name="POST /v1/search"),
    Address("POST", "/v1/search", ("search:agentic",), 202, ASK, name="POST /v1/search, mode `agentic`"),
    Address("GET", "/v1/runs"),
    Address("GET", "/v1/runs/{run}", (OWN,)),
    Address("GET", "/v1/runs/{run}/events", (OWN,)),
    Address("POST", "/v1/runs/{run}/cancel", (OWN,), 202),
    Address("GET", "/v1/messages", READ),
    Address("POST", "/v1/messages?mailbox=family", ("ingest:write",), 201, content=MAIL),
    Address("GET", "/v1/messages/{message}", READ),
    Address("GET", "/v1/messages/{message}/raw", ("message:raw",)),
    Address("GET", "/v1/messages/{message}/related", READ),
    Address(
        "POST", "/v1/messages/{message}/quarantine", ("quarantine:write",), body={"quarantined": False, "reason": "ok"}
    ),
    Address("GET", "/v1/threads/{thread}", READ),
    Address("GET", "/v1/attachments/{attachment}", READ),
    Address("GET", "/v1/attachments/{attachment}/file", ("message:raw",)),
    Address("GET", "/v1/contacts", READ),
    Address("GET", "/v1/audit/{what}", ("audit:read",)),
    Address("POST", "/v1/verify", ("verify", "search:read"), body={"text": "So it is."}),
    Address("GET", "/v1/me"),
    Address("GET", "/v1/usage"),
)
TOOLS = (
    Tool("POST", "/mcp", READ, name="search", body={"query": "golf"}),
    Tool("POST", "/mcp", READ, name="read_thread", body={"thread": "%(thread)s"}),
    Tool("POST", "/mcp", READ, name="read_message", body={"message": "%(message)s"}),
    Tool("POST", "/mcp", READ, name="read_attachment_text", body={"attachment": "%(attachment)s"}),
    Tool("POST", "/mcp", READ, name="find_related", body={"message": "%(message)s"}),
    Tool("POST", "/mcp", READ, name="contacts", body={"query": "claims"}),
    Tool("POST", "/mcp", ("search:agentic",), name="ask_mail", body={"query": QUESTION}),
    Tool("POST", "/mcp", ("verify", "search:read"), name="verify_answer", body={"text": "So it is."}),
)


def ids_of(home: House, run: str, attachment: str, message: str) -> dict[str, str]:
    """What stands in the addresses' places: things of family's mail, and a run over it."""
    return {"what": "runs", "run": run, "message": message, "attachment": attachment, "thread": home.thread(home.golf)}
