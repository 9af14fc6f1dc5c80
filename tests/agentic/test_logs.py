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
    tmp_path.chmod(0o755)
    server = EmbeddedPostgres(tmp_path / "data")
    server.start()
    try:
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            conn.execute("CREATE TABLE t (id int PRIMARY KEY, words varchar(5))")
            conn.execute("CREATE UNIQUE INDEX ON t (words)")
            with pytest.raises(psycopg.Error), conn.cursor().copy("COPY t FROM STDIN") as copy:
                copy.write_row((1, CANARY))
            for statement in ("INSERT INTO t VALUES (1, %s)", "SELECT * FROM t WHERE words = %s AND 1/id > 0 OR 1/0=1"):
                with pytest.raises(psycopg.Error):
                    conn.execute(statement, [CANARY])
            conn.execute("INSERT INTO t VALUES (2, 'zyxca')")
            with pytest.raises(psycopg.Error):
                conn.execute("INSERT INTO t VALUES (3, 'zyxca')")
        log = "".join(path.read_text() for path in (tmp_path / "data").rglob("server.log"))
        assert "value too long" in log
        assert "zyxca" not in log
    finally:
        server.stop_if_unused()
