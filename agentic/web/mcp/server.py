"""The MCP server: which tools a key sees, and what becomes of a call."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from agentic import versions
from agentic.admission import NotPermitted
from agentic.callers import Principal
from agentic.core.ports import ToolSpec
from agentic.web import problems, rates
from agentic.web.mcp.asking import ask_mail
from agentic.web.mcp.calls import Call, Said, check_signs
from agentic.web.mcp.mail_tools import call_mail_tool
from agentic.web.mcp.schemas import (
    ASK,
    ASK_GIVES,
    ASK_TOLD,
    INSTRUCTIONS,
    MAIL_GIVES,
    MAIL_TOOLS,
    VERIFY,
    VERIFY_GIVES,
    VERIFY_TOLD,
)
from agentic.web.mcp.verification import verify_answer
from agentic.web.problems import Problem
from mailsearch.models import Permission

# Where the endpoint puts who was recognised.
PRINCIPAL = "mailsearch.principal"
_LIMITED = -32_000
Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool, the permissions that it needs, and what calls it."""

    spec: ToolSpec
    gives: Mapping[str, Any]
    needs: tuple[str, ...]
    run: Callable[[Call], Awaitable[Said]]
    # Whether a second call with the same arguments costs nothing more.
    idempotent: bool = True

    def described(self) -> types.Tool:
        return types.Tool(
            name=self.spec.name,
            description=f"{self.spec.description} Needs the permission {' and '.join(self.needs)}.",
            input_schema=dict(self.spec.parameters),
            output_schema=dict(self.gives),
            annotations=types.ToolAnnotations(
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
        )


_TOOLS: Mapping[str, _Tool] = {
    tool.spec.name: tool
    for tool in (
        _Tool(ToolSpec("ask_mail", ASK_TOLD, ASK), ASK_GIVES, (Permission.SEARCH_AGENTIC,), ask_mail, idempotent=False),
        *(
            _Tool(spec, MAIL_GIVES, (Permission.SEARCH_READ,), partial(call_mail_tool, spec.name))
            for spec in MAIL_TOOLS
        ),
        _Tool(
            ToolSpec("verify_answer", VERIFY_TOLD, VERIFY),
            VERIFY_GIVES,
            (Permission.VERIFY, Permission.SEARCH_READ),
            verify_answer,
        ),
    )
}


def make_server() -> Server[Any]:
    """The server, for the lifetime of one event loop."""
    server: Server[Any] = Server(
        "mailsearch",
        version=versions.service(),
        title="mailsearch",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=_schema_of,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )
    server.middleware.append(_limit)
    return server


def _schema_of(name: str) -> Mapping[str, Any] | None:
    tool = _TOOLS.get(name)
    return tool.spec.parameters if tool else None


async def _list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """The tools that the key may use: one that is listed in vain would be called in vain."""
    principal = _principal(context)
    allowed = [tool for tool in _TOOLS.values() if all(map(principal.may, tool.needs))]
    return types.ListToolsResult(tools=[tool.described() for tool in allowed], cache_scope="private")


async def _call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    principal, tool = _principal(context), _TOOLS.get(params.name)
    try:
        if tool is None:
            raise Problem("not-found", f"There is no such tool. There are {', '.join(_TOOLS)}.")
        for permission in tool.needs:
            if not principal.may(permission):
                raise NotPermitted(permission)
        check_signs(params.arguments or {})
        call = Call(principal, params.arguments or {}, partial(_tell, context))
        return _result(await tool.run(call))
    except Exception as error:  # noqa: BLE001 - the call's boundary: every error leaves as words for the agent
        return refusal(problems.of(error))


async def _limit(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Counts each request. An agent reads the result of a tool, but hardly ever an error of the transport."""
    try:
        rates.check(_principal(ctx))
    except Problem as problem:
        if ctx.method == "tools/call":
            return refusal(problem)
        raise MCPError(_LIMITED, f"{problem.detail} Try again in {problem.more['retry_after']} s.") from problem
    return await call_next(ctx)


async def _tell(context: Context, number: float, words: str) -> None:
    await context.session.report_progress(number, message=words)


def refusal(problem: Problem) -> types.CallToolResult:
    """A problem as a tool's result: words for the agent, and the problem of the REST API as values."""
    told = problems.as_json(problem, "/mcp")
    lines = [" ".join(str(told[name]) for name in ("title", "detail") if name in told)]
    lines += [f"{error['field']}: {error['message']}" for error in told.get("errors", ())]
    if "retry_after" in told:
        lines.append(f"Try again in {told['retry_after']} s, not before.")
    return types.CallToolResult(
        content=[types.TextContent(text="\n".join(lines))], structured_content=told, is_error=True
    )


def _result(said: Said) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said.text)], structured_content=said.data)


def _principal(context: Context) -> Principal:
    principal = context.request.scope[PRINCIPAL] if context.request is not None else None
    assert isinstance(principal, Principal)
    return principal
