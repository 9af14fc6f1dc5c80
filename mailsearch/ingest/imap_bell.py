"""A connection that waits for its server to say that something changed (IDLE, RFC 2177)."""

import time
from contextlib import ExitStack, suppress
from socket import socket

from imapclient.exceptions import IMAPClientError

from mailsearch.ingest.imap_session import session
from mailsearch.models import MailSource

# Servers may log out who has been idle for half an hour.
_LONGEST = 25 * 60.0
_INBOX = "INBOX"


class Bell:
    """INBOX of one source, listened to. Raises SyncFailed where it can't be; `offered` says whether it can."""

    def __init__(self, source: MailSource) -> None:
        self.is_over = False
        self._until = time.monotonic() + _LONGEST
        with ExitStack() as stack:
            self._client = stack.enter_context(session(source))
            self.offered = bool(self._client.has_capability("IDLE"))
            if self.offered:
                self._client.select_folder(_INBOX, readonly=True)
                self._client.idle()
            self._stack = stack.pop_all()

    @property
    def socket(self) -> socket:
        """What becomes readable when the server says something."""
        found: socket = self._client.socket()
        return found

    @property
    def is_worn(self) -> bool:
        """Whether it has listened for as long as servers put up with."""
        return time.monotonic() > self._until

    def rang(self) -> bool:
        """Whether what the server said is about mail. Afterwards `is_over` says whether it has hung up."""
        try:
            said = self._client.idle_check(timeout=0)
        except (OSError, IMAPClientError):
            said = []
        # Readable, and nothing to read: the end of the connection.
        self.is_over = not said
        # "OK Still here" is nothing new.
        return any(one[0] != b"OK" for one in said)

    def close(self) -> None:
        """Hang up, whatever state the connection is in."""
        with suppress(OSError):
            self._client.shutdown()
        self._stack.close()
