"""Django's Postgres, whose pool lends only connections that the server still holds."""

from typing import Any

import psycopg
from django.db.backends.postgresql import base
from django.utils.asyncio import async_unsafe
from psycopg_pool import ConnectionPool

from mailsearch.soundness import is_quiet


class DatabaseWrapper(base.DatabaseWrapper):
    """As Django's own, for a pool without checks of its own."""

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection; from the pool where there is one. Raises PoolTimeout where none is to be had in time."""
        conn = super().get_new_connection(conn_params)
        while self.pool and not _is_sound(conn):
            conn.close()
            self.pool.putconn(conn)
            conn = super().get_new_connection(conn_params)
        return conn


def _is_sound(conn: psycopg.Connection[Any]) -> bool:
    if is_quiet(conn):
        return True
    try:
        ConnectionPool.check_connection(conn)
    except psycopg.Error:
        return False
    return True
