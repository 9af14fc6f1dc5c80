"""What is logged holds no word of mail, whatever goes wrong."""

import logging
import sys
from pathlib import Path

import psycopg
import pytest

from agentic.server.embedded import EmbeddedPostgres
from agentic.server.logs import Line

CANARY = "zyxcanary"


def test_an_error_is_told_by_its_kind_and_place_and_not_by_its_words() -> None:
    try:
        try:
            raise ValueError(CANARY)
        except ValueError as error:
            raise RuntimeError(f"no {CANARY}") from error
    except RuntimeError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "run %s failed", ("run_1",), sys.exc_info())
    line = Line("%(message)s").format(record)
    assert CANARY not in line
    assert line.startswith("run run_1 failed\nbuiltins.ValueError at ")
    assert "builtins.RuntimeError at " in line
    assert Path(__file__).name in line


def test_the_embedded_database_logs_no_value_at_which_a_statement_failed(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "data")
    server.start()
    try:
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            _fail_in_every_way(conn)
        log = "".join(path.read_text() for path in (tmp_path / "data").rglob("server.log"))
        assert "value too long" in log
        assert "zyxca" not in log
    finally:
        server.stop_if_unused()


def _fail_in_every_way(conn: psycopg.Connection[tuple[object, ...]]) -> None:
    conn.execute("CREATE TABLE t (id int PRIMARY KEY, words varchar(5) UNIQUE)")
    with pytest.raises(psycopg.Error), conn.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write_row((1, CANARY))
    conn.execute("INSERT INTO t VALUES (2, 'zyxca')")
    failing = (
        ("INSERT INTO t VALUES (1, %s)", CANARY),
        ("SELECT * FROM t WHERE words = %s AND 1/id > 0 OR 1/0=1", CANARY),
        ("INSERT INTO t VALUES (3, %s)", "zyxca"),
    )
    for statement, value in failing:
        with pytest.raises(psycopg.Error):
            conn.execute(statement, [value])
