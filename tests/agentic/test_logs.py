"""What is logged holds no word of mail, whatever goes wrong."""

import json
import logging
from pathlib import Path

import psycopg
import pytest
from structlog.contextvars import bound_contextvars

from agentic.server.embedded import EmbeddedPostgres
from agentic.server.logs import Format, Line

CANARY = "zyxcanary"


def record(name: str, words: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord(name, logging.ERROR, __file__, 1, words, args, info)


def failure() -> RuntimeError:
    try:
        try:
            raise ValueError(CANARY)
        except ValueError as error:
            raise RuntimeError(f"no {CANARY}") from error
    except RuntimeError as error:
        return error


def test_an_error_is_told_by_its_kind_and_place_and_not_by_its_words() -> None:
    line = Line().format(record("agentic.x", "run %s failed", "run_1", error=failure()))
    assert CANARY not in line
    head, first, second = line.splitlines()
    assert head.endswith("ERROR agentic.x run run_1 failed")
    assert first.startswith("builtins.ValueError at ")
    assert second.startswith("builtins.RuntimeError at ")
    assert Path(__file__).name in line


def test_as_json_each_record_is_one_line_with_the_run_that_it_belongs_to() -> None:
    with bound_contextvars(run="run_7"):
        line = Line("json").format(record("mailsearch.x", "two\nlines", error=failure()))
    told = json.loads(line)
    assert "\n" not in line
    assert CANARY not in line
    assert (told["run"], told["level"], told["event"]) == ("run_7", "error", "two\nlines")
    assert [one["kind"] for one in told["errors"]] == ["builtins.ValueError", "builtins.RuntimeError"]


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(
    ("name", "words", "args", "shown"),
    [
        ("httpx", f"POST https://x.example/?q={CANARY}", (), "words left out"),
        ("asyncio", f"exception was never retrieved {CANARY}", (), "words left out"),
        ("mcp.server", "got %s", (CANARY,), "words left out"),
        ("django.request", "Not Found: %s", (f"/{CANARY}",), "Not Found: %s"),
        ("django.security", f"Invalid HTTP_HOST {CANARY}", (), "words left out"),
        ("uvicorn.error", "Started server process [%d]", (7,), "process [7]"),
        (
            "uvicorn.access",
            '%s - "%s %s HTTP/%s" %d',
            ("127.0.0.1:5", "GET", f"/v1/messages?from={CANARY}", "1.1", 200),
            "/v1/messages HTTP/1.1",
        ),
        (
            "uvicorn.access",
            '%s - "%s %s HTTP/%s" %d',
            ("127.0.0.1:5", "GET", f"/v1/a%20{CANARY}/x", "1.1", 404),
            "/v1/…/x HTTP/1.1",
        ),
    ],
)
def test_of_what_libraries_say_only_what_can_hold_no_mail_is_told(
    form: Format, name: str, words: str, args: tuple[object, ...], shown: str
) -> None:
    line = Line(form).format(record(name, words, *args))
    assert CANARY not in line
    assert shown in line


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
