"""Names that look the same are the same."""

from importlib import import_module
from types import SimpleNamespace

import psycopg
import pytest

from mailsearch.names import likeness
from tests.mailsearch.posting import Letter, Office

migration = import_module("mailsearch.migrations.0035_names_alike")


@pytest.mark.parametrize(
    "name",
    ["Anna Berg", "ANNA  BERG", "Berg, Anna", "\u0410nna B\u0435rg", "Anna.Berg", "Anna\u200b\u3164Berg", "Ánna Berg"],
)
def test_names_that_a_reader_takes_for_the_same_look_alike(name: str) -> None:
    assert likeness(name) == "annaberg"


def test_a_name_that_is_nothing_but_signs_looks_like_itself() -> None:
    assert (likeness("--"), likeness("")) == ("--", "")


def test_names_that_were_there_before_get_their_likeness(owner_conninfo: str) -> None:
    office = Office()
    office.post("sales", Letter("x", sender="Berg, Anna <anna@haus.example>"))
    with psycopg.connect(owner_conninfo) as conn:
        mine = "WHERE tenant_id = %s AND role = 'from'", [office.tenant.pk]
        conn.execute(f"UPDATE mailsearch_participant SET name_key = '' {mine[0]}", mine[1])
        migration.fill(None, SimpleNamespace(connection=conn))
        rows = conn.execute(f"SELECT name_key FROM mailsearch_participant {mine[0]}", mine[1]).fetchall()
    assert rows == [("annaberg",)]
