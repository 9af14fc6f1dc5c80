"""Where a source is, as an operator writes it: a path, or `imaps://account@host[:port]`."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mailsearch.ingest.sources import NotASource, open_source
from mailsearch.models import MailSource

Tls = MailSource.Tls
_WRITTEN = "An IMAP account is written imaps://account@host, with a port after the host if need be."
_SCHEMES = {"imaps": (Tls.IMPLICIT, 993), "imap": (Tls.STARTTLS, 143)}


@dataclass(frozen=True, slots=True)
class Address:
    """A source's place in the words of its row; account, host and port are empty for files."""

    kind: str
    location: str
    account: str = ""
    host: str = ""
    port: int | None = None
    tls: MailSource.Tls = Tls.IMPLICIT


def address_of(text: str, *, plain: bool = False) -> Address:
    """The address that *text* names; *plain* asks for no TLS. Raises NotASource with what to write instead."""
    if "://" not in text:
        path = Path(text).expanduser().absolute()
        return Address(open_source(path).kind, str(path))
    try:
        url = urlsplit(text)
    except ValueError as error:
        raise NotASource(_WRITTEN) from error
    if url.scheme not in _SCHEMES:
        raise NotASource(f"{url.scheme}:// is no source; write imaps://account@host or imap://account@host.")
    if url.password is not None:
        raise NotASource("A password in an address ends up in histories; leave it out, it is asked for.")
    account, host = unquote(url.username or ""), url.hostname or ""
    if not account or not host or not (account + host).isprintable() or url.path.strip("/"):
        raise NotASource(_WRITTEN)
    tls, port = _SCHEMES[url.scheme]
    try:
        port = url.port or port
    except ValueError as error:
        raise NotASource("The port is no number from 1 to 65535.") from error
    if plain:
        tls = _plain(url.scheme)
    return Address("imap", f"{url.scheme}://{account}@{host}:{port}", account, host, port, tls)


def _plain(scheme: str) -> MailSource.Tls:
    if scheme == "imaps":
        raise NotASource("imaps:// is TLS; --plain goes with imap:// alone.")
    return Tls.NONE
