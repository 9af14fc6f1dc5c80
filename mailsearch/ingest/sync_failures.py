"""Why a source could not be followed, told apart by what to do about it."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from imapclient.exceptions import IMAPClientAbortError, IMAPClientError

from mailsearch.models import MailSource

State = MailSource.State


class SyncFailed(Exception):
    """A source could not be read to its end. The message says what to do, and nothing that the server or a secret said.

    `state` is what the source is in now. What was taken in until then is kept.
    """

    def __init__(self, state: MailSource.State, advice: str) -> None:
        super().__init__(advice)
        self.state = state


@contextmanager
def classified(source: MailSource) -> Iterator[None]:
    """Errors of the way to the server become SyncFailed. What servers say is not repeated: it may hold anything."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        # OpenSSL's own words: no text of the certificate but the host's name that we gave.
        raise SyncFailed(
            State.TLS_FAILED,
            f"The certificate of {source.host} is not believed ({error.verify_message}). Check the host's name; for an"
            " authority of your own, name its certificate with add_source --ca-file.",
        ) from error
    except ssl.SSLError as error:
        raise SyncFailed(
            State.TLS_FAILED,
            f"{source.host} and this machine agree on no TLS ({error.reason or 'broken off'}). Check the port: imaps://"
            " is TLS from the first byte, imap:// asks for STARTTLS.",
        ) from error
    except (IMAPClientAbortError, OSError) as error:
        raise SyncFailed(
            State.NETWORK_FAILED,
            f"{source.host} was not reached, or the connection broke ({_cause(error)}). Check host, port and network;"
            " the next sync goes on from here.",
        ) from error
    except (IMAPClientError, ValueError, KeyError, UnicodeError) as error:
        raise SyncFailed(
            State.PROTOCOL_FAILED,
            f"{source.host} answered in a way that is not understood or refused a command ({type(error).__name__})."
            " If it stays so, the server or the port is not one for IMAP4rev1.",
        ) from error


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "ended by the server"
