"""EXPLAIN says that searches of a caller under row-level security use the indexes that they need.

The server has no way to show the plans of statements inside of functions, so copies of the functions are asked, whose
statements are explained instead of run: of the same owner, called by the same role, with the same settings.
"""

import re

import psycopg
import pytest
from django.conf import settings
from psycopg import sql
from psycopg.types.json import Jsonb

from agentic.server.roles import role_names
from mailsearch.scope import Scope
from tests.mailsearch.posting import Office
from tests.mailsearch.test_search_index import MANY, fill

pytestmark = pytest.mark.django_db(transaction=True)
_RETURNED = re.compile(r"RETURNS TABLE\([^)]*\)")
# The statements: one whose rows are gone through, and those whose rows are given back.
_STATEMENTS = (
    re.compile(r"FOR v_found IN(.*?)LOOP.*?END LOOP;", re.DOTALL),
    re.compile(r"RETURN QUERY (SELECT d\.message_id[^;]*);"),
)
_EXPLAINED = r"FOR v_line IN EXPLAIN \1 LOOP RETURN NEXT v_line; END LOOP;"


def plans(owner: str, scope: Scope, function: str, like: str, values: list[object]) -> str:
    """The plans of what *function* would run for *scope*, with the settings of the function *like*."""
    names = role_names(settings.PM_DATABASE_NAME)
    with psycopg.connect(owner) as conn:
        source, config = [
            conn.execute(f"SELECT {what} FROM pg_proc WHERE oid = %s::regproc", [f"mail_search.{of}"]).fetchone()
            for what, of in (("pg_get_functiondef(oid)", function), ("proconfig", like))
        ]
        assert source is not None
        assert config is not None
        made = _RETURNED.sub("RETURNS SETOF text", source[0].replace(f"mail_search.{function}", "mail_search.shown", 1))
        for statement in _STATEMENTS:
            made = statement.sub(_EXPLAINED, made)
        conn.execute(made.replace("DECLARE", "DECLARE v_line text;", 1).encode())
        ours = [row[0] for row in conn.execute("SELECT oid::regprocedure FROM pg_proc WHERE proname = 'shown'")]
        for change in (
            "VOLATILE SECURITY DEFINER",
            f"OWNER TO {names.owner}",
            *(f"SET {one}" for one in map(_setting, config[0])),
        ):
            conn.execute(f"ALTER FUNCTION {ours[0]} {change}".encode())
        conn.execute(f"GRANT EXECUTE ON FUNCTION {ours[0]} TO {names.app}".encode())
        conn.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(names.app)))
        for binding in scope.binding().statements():
            conn.execute(binding)
        call = f"SELECT * FROM mail_search.shown({', '.join(['%s'] * len(values))})"
        lines = [row[0] for row in conn.execute(call.encode(), values)]
        conn.rollback()
    return "\n".join(lines)


def _setting(one: str) -> str:
    name, _, value = one.partition("=")
    return f"{name} = {value}"


@pytest.mark.parametrize(("expected", "small"), [(1, False), (1, True), (MANY, False)])
def test_words_are_looked_for_in_their_index(owner_conninfo: str, expected: int, small: bool) -> None:
    """Whether they are rare, rare in a small part of the store, or common."""
    scope = fill(owner_conninfo, Office(), "big", share=MANY, apart=20)
    words = "'word77'"
    values: list[object] = [
        scope.folder_ids, None, None, words, None, words, [words], [1.0], [1.0], 1_000, expected, small,
    ]  # fmt: skip
    shown = plans(owner_conninfo, scope, "newest", "best", values)
    assert "Bitmap Index Scan on search_document_words" in shown
    assert "Seq Scan" not in shown
    assert ("&&" in shown) == (small or expected > 1)


def test_near_passages_are_looked_for_in_their_index(owner_conninfo: str) -> None:
    scope = fill(owner_conninfo, Office(), "big", share=4)
    near = "[" + ",".join(["1", *["0"] * 511]) + "]"
    values: list[object] = [Jsonb({"folders": scope.folder_ids}), "noise", near, 200, 10, False]
    shown = plans(owner_conninfo, scope, "nearest", "nearest", values)
    assert "Index Scan using vector_near_512" in shown
    assert "Seq Scan" not in shown
