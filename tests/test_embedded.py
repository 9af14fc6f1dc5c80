"""The Postgres that comes along starts on an empty folder, is shared, and survives what people do to folders."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agentic.server.embedded import EmbeddedPostgres


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    made = EmbeddedPostgres(tmp_path / "data folder")
    yield made
    made.stop()


def _version(server: EmbeddedPostgres) -> int:
    with psycopg.connect(server.conninfo()) as conn:
        return conn.info.server_version


def test_it_starts_on_an_empty_folder_and_once_for_all_who_ask(server: EmbeddedPostgres) -> None:
    server.start()
    EmbeddedPostgres(server.folder).start()
    assert _version(server) >= 150_000


def test_only_its_owner_may_enter_the_folder_of_its_socket(server: EmbeddedPostgres) -> None:
    server.start()
    assert server.socket.stat().st_mode & 0o077 == 0


def test_it_stops_unless_somebody_else_uses_it(server: EmbeddedPostgres) -> None:
    server.start()
    with psycopg.connect(server.conninfo()):
        server.stop_if_unused()
        assert _version(server)
    server.stop_if_unused()
    with pytest.raises(psycopg.OperationalError):
        _version(server)


def test_it_starts_anew_where_its_data_was_deleted_under_it(server: EmbeddedPostgres) -> None:
    server.start()
    shutil.rmtree(server.data)
    server.start()
    assert _version(server) >= 150_000
