"""Whether a connection that waited in a pool is still one: after a restart of the database none of them is.

A pool's own check asks the server each time, and pauses one, two, four … seconds after each connection that it finds
ended: half a minute for five of them.
"""

import select
from typing import Any

import psycopg


def is_quiet(conn: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any]") -> bool:
    """Whether the server has told nothing since the connection was last used.

    It tells nothing to who asked nothing, unless it ends; so a connection where nothing is to be read is sound, and one
    where something is must be asked. Takes no trip.
    """
    try:
        poller = select.poll()
        poller.register(conn.pgconn.socket, select.POLLIN)
    except psycopg.OperationalError:
        return False
    return not poller.poll(0)
