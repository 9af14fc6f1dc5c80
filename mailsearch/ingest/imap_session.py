"""A session with an IMAP server: over TLS or not at all, logged in, and never writing.

Implicit TLS (RFC 8314) or STARTTLS that must succeed before anything is said; certificates and names are checked. In
the clear only to a loopback address, and only where the source says so.
"""

import ipaddress
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from imapclient import IMAPClient, SocketTimeout
from imapclient.exceptions import CapabilityError, IMAPClientAbortError, IMAPClientError, LoginError

from mailsearch.ingest import credentials
from mailsearch.ingest.credentials import Credential
from mailsearch.ingest.sync_failures import State, SyncFailed, classified
from mailsearch.models import MailSource

# The library writes whole dialogues, mail and tokens in them, at a lower level.
logging.getLogger("imapclient").setLevel(logging.WARNING)
_TIMEOUT = SocketTimeout(connect=20, read=120)


@contextmanager
def session(source: MailSource) -> Iterator[IMAPClient]:
    """A client that is logged in. Raises SyncFailed, also for what goes wrong within the block."""
    credential = credentials.credential_of(source)
    with classified(source), _connected(source) as client:
        _log_in(client, source, credential)
        # Names stay as they are on the wire, so that any name can be given back.
        client.folder_encode = False
        client.normalise_times = False
        yield client


def is_loopback(host: str) -> bool:
    """Whether every address of *host* is this machine's own."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(str(one[4][0]).split("%")[0]).is_loopback for one in found)


def _connected(source: MailSource) -> IMAPClient:
    port = source.port or None
    if source.tls == MailSource.Tls.IMPLICIT:
        return IMAPClient(source.host, port, ssl_context=_context(source), timeout=_TIMEOUT)
    if source.tls == MailSource.Tls.NONE and not is_loopback(source.host):
        raise SyncFailed(State.TLS_FAILED, "Without TLS only this machine itself is spoken to; use imaps:// instead.")
    client = IMAPClient(source.host, port, ssl=False, timeout=_TIMEOUT)
    if source.tls == MailSource.Tls.STARTTLS:
        _secure(client, source)
    return client


def _secure(client: IMAPClient, source: MailSource) -> None:
    try:
        client.starttls(_context(source))
    except (CapabilityError, IMAPClientError) as error:
        client.shutdown()
        if isinstance(error, IMAPClientAbortError):
            raise
        raise SyncFailed(
            State.TLS_FAILED,
            f"{source.host} does not begin TLS: it does not offer STARTTLS, or something on the way took it out."
            " Nothing secret was sent. Try imaps://.",
        ) from error
    except OSError:
        client.shutdown()
        raise


def _context(source: MailSource) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if source.ca_file:
        try:
            context.load_verify_locations(cafile=source.ca_file)
        except OSError as error:
            raise SyncFailed(
                State.TLS_FAILED, "The file of certificates (--ca-file) can't be read as PEM; name another."
            ) from error
    return context


def _log_in(client: IMAPClient, source: MailSource, credential: Credential) -> None:
    try:
        if credential.is_token:
            client.oauth2_login(source.account, credential.value)
        elif client.has_capability("AUTH=PLAIN"):
            # Takes any character, as LOGIN does not.
            client.plain_login(source.account, credential.value)
        else:
            client.login(source.account, credential.value)
    except LoginError as error:
        if isinstance(error.__context__, IMAPClientAbortError) or "[UNAVAILABLE]" in str(error):
            raise SyncFailed(
                State.NETWORK_FAILED, f"{source.host} can't log anybody in at the moment; the next sync tries again."
            ) from None
        # Without its cause: it repeats what the server said.
        raise SyncFailed(
            State.AUTH_FAILED,
            f"{source.host} refused the login of {source.account}. Check account and secret, and give the secret with"
            " add_source again; providers with two-factor sign-in want an app password or a token command.",
        ) from None
