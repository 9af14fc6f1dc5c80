"""Every address and tool × every permission × every kind of key, and the table in docs/permissions.md that says so.

The table is what was answered, not what was meant. `WRITE_DOCS=1 pytest tests/agentic/test_permissions.py` writes it.
"""

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from agentic.callers import revoke_key
from agentic.models import AgentPolicy
from agentic.web.urls import urlpatterns
from mailsearch.models import ApiKey, Attachment
from mailsearch.sessions import bound
from tests.agentic.addresses import ADDRESSES, OWN, TOOLS, Address, ids_of
from tests.agentic.asking import asked, insurer_accepts
from tests.agentic.cast import ALL, Caller, House, house
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "permissions.md"
ATTACHED = (
    b"From: claims@nordlicht.example\r\nTo: jo@brandt.example\r\nSubject: Golf\r\nMessage-ID: <2@x.example>\r\n"
    b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n"
    b"See the letter.\r\n--b\r\nContent-Type: text/plain\r\n"
    b"Content-Disposition: attachment; filename=letter.txt\r\n\r\n"
    b"The Golf's liability letter.\r\n--b--\r\n"
)
# Words of family's mail that nobody may see who may not read it.
FAMILY_ALONE = ("liability", "nordlicht", "letter.txt")
HEAD = """# Who may do what

Made by `tests/agentic/test_permissions.py`, which asks a running service; do not edit it by hand. Cells are the status
that is answered. No permission implies another.

The first columns are keys that hold that one permission alone, then one that holds all of them and started the run
that is asked for; all of these may read the mail that is asked for. *narrower* may read another mailbox alone,
*elsewhere* is a key of another tenant: both hold all permissions, and where they are answered 200 or 201 they see and
change what is their own alone. Keys that are none (missing, wrong, expired, revoked) are answered in the same words.
`POST /v1/verify` needs `verify` and `search:read`; a run is read by who started it, and with `audit:read` also by
others of its tenant, who see no more of its mail than they may read. Tools are called over MCP; the status of one that
refuses is what it says in its result.

"""


def _callers(home: House) -> dict[str, Caller | None]:
    """By the column that each has in the table."""
    expired, revoked, bad = (home.caller("family") for _ in range(3))
    ApiKey.objects.filter(pk=expired.key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    revoke_key(revoked.key)
    single: dict[str, Caller | None] = {one: home.caller("family", permissions=(one,)) for one in ALL}
    return {
        **single,
        "all": home.jo,
        "narrower": home.kim,
        "elsewhere": house().caller(all_mailboxes=True),
        "no key": None,
        "wrong": Caller(bad.key, bad.token[:-4] + "AAAA", bad.principal),
        "expired": expired,
        "revoked": revoked,
    }


def _expected(address: Address, column: str) -> int:
    if column in ("no key", "wrong", "expired", "revoked"):
        return 401
    held = set(ALL) if column not in ALL else {column}
    if OWN in address.needs:
        audits = address.shown == "GET /v1/runs/{run}" and column in ("all", "audit:read", "narrower")
        return address.gives if column == "all" or audits else 404
    if not set(address.needs) <= held:
        return 403
    names_mail = any(one in address.path + str(address.body) for one in ("message}", "thread}", "attachment}", ")s"))
    if column == "narrower" and (names_mail or address.content):
        return 404
    if column == "elsewhere" and names_mail:
        return 404
    return address.gives


def _put_in(service: Service, home: House, headers: Mapping[str, str]) -> dict[str, str]:
    """A message with an attachment in family's mail, and a run of whoever *headers* are."""
    with service.client({**headers, "Content-Type": "message/rfc822"}) as client:
        assert client.post("/v1/messages?mailbox=family", content=ATTACHED).status_code == 201
    with bound(home.office.binding()):
        attachment = Attachment.objects.select_related("message").get(filename="letter.txt", tenant=home.office.tenant)
    return {"attachment": attachment.public_id, "message": attachment.message.public_id}


def _may_show(address: Address, column: str, status: int) -> bool:
    """Whether words of family's mail may be in the answer: the other tenant has such mail of its own."""
    if column == "elsewhere":
        return status < 300
    return column in (*ALL, "all") or OWN in address.needs


def _observed(service: Service) -> dict[tuple[str, str], tuple[int, int]]:
    """(expected, answered) by address and column."""
    home = house()
    callers = _callers(home)
    owner = callers["all"]
    assert owner is not None
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=120)
    run = asked(owner.principal, insurer_accepts())["run_id"]
    ids = ids_of(home, run, **_put_in(service, home, owner.headers))
    seen = {}
    for column, caller in callers.items():
        with service.client(caller.headers if caller else {}) as client:
            for address in (*ADDRESSES, *TOOLS):
                status, text = address.send(client, ids)
                seen[address.shown, column] = (_expected(address, column), status)
                leaked = [word for word in FAMILY_ALONE if word in text]
                assert not leaked or _may_show(address, column, status), (address.shown, column, text[:300])
    return seen


def _rendered(seen: Mapping[tuple[str, str], tuple[int, int]]) -> str:
    rows = list(dict.fromkeys(row for row, _ in seen))
    columns = list(dict.fromkeys(column for _, column in seen))
    shown = [f"`{one}`" if ":" in one or one == "verify" else f"*{one}*" for one in columns]
    lines = [f"| | {' | '.join(shown)} |", "| --- |" + " --- |" * len(columns)]
    for row in rows:
        name = row if row.startswith("tool") else f"`{row}`" if "," not in row else "`{}`,{}".format(*row.split(",", 1))
        lines.append(f"| {name} | {' | '.join(str(seen[row, column][1]) for column in columns)} |")
    return HEAD + "\n".join(lines) + "\n"


def test_every_address_and_tool_opens_to_exactly_whom_the_table_says(service: Service, settings: Any) -> None:
    settings.PM_RATE_CALLER = settings.PM_RATE_TENANT = 10_000
    seen = _observed(service)
    assert {cell: both for cell, both in seen.items() if both[0] != both[1]} == {}
    told = _rendered(seen)
    if os.environ.get("WRITE_DOCS"):
        DOCUMENT.write_text(told)
    assert DOCUMENT.read_text() == told, "docs/permissions.md is stale: run this with WRITE_DOCS=1"


def test_the_table_leaves_no_address_out() -> None:
    asked_for = {address.path.partition("?")[0] for address in ADDRESSES}
    there = {f"/v1/{one.pattern}".replace("<str:", "{").replace(">", "}") for one in urlpatterns if str(one.pattern)}
    public = {"/v1/openapi.json", "/v1/docs", "/v1/problems"}
    assert there - public == asked_for
