"""The secrets of mail sources: sealed with a key of this installation, or read from the environment.

A sealed secret opens only for the account and host that it was given for, so that nobody who can change a source's
row can have it sent elsewhere.
"""

import base64
import os
import shlex
import subprocess
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from mailsearch.ingest.sync_failures import State, SyncFailed
from mailsearch.models import MailSource, SourceSecret
from mailsearch.sessions import Binding, bound

_TOKEN_SECONDS = 60
_TOKEN_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server is shown: a password, or (`is_token`) an access token for XOAUTH2."""

    value: str = field(repr=False)
    is_token: bool


def keep(source: MailSource, secret: str) -> None:
    """Seal *secret* (a password or a token command) and keep it in place of the one before."""
    with bound(Binding(source.tenant_id, frozenset({source.mailbox_id}))):
        SourceSecret.objects.update_or_create(
            source=source,
            defaults={
                "tenant_id": source.tenant_id,
                "mailbox_id": source.mailbox_id,
                "sealed": _box(source).encrypt(secret.encode()),
            },
        )


def credential_of(source: MailSource) -> Credential:
    """What logs in to *source*. Raises SyncFailed where it can't be had."""
    secret = _from_environment(source.secret_env) if source.secret_env else _unsealed(source)
    if source.login == MailSource.Login.XOAUTH2:
        return Credential(_token(secret), is_token=True)
    return Credential(secret, is_token=False)


def _from_environment(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise SyncFailed(State.SECRET_FAILED, f"The environment variable {name} is not set for this process; set it.")
    return value


def _unsealed(source: MailSource) -> str:
    with bound(Binding(source.tenant_id, frozenset({source.mailbox_id}))):
        row = SourceSecret.objects.filter(source=source).first()
    if row is None:
        raise SyncFailed(State.SECRET_FAILED, "No secret is kept for this source; give it with add_source again.")
    try:
        return _box(source).decrypt(bytes(row.sealed)).decode()
    except InvalidToken:
        raise SyncFailed(
            State.SECRET_FAILED,
            "The secret can't be opened: PM_SECRET_KEY, or the source's account or host, is not what it was sealed"
            " for. Give it with add_source again.",
        ) from None


def _box(source: MailSource) -> Fernet:
    purpose = f"mail source\0{source.tenant_id}\0{source.mailbox_id}\0{source.account}\0{source.host}\0{source.port}"
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode()).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(key))


def _token(command: str) -> str:
    """The access token that *command* prints. It runs without a shell and sees nothing of this process' input."""
    try:
        done = subprocess.run(  # noqa: S603 - given by who runs the commands of this machine
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_TOKEN_SECONDS,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        # Neither the command nor what it printed is told: both may hold secrets.
        raise SyncFailed(
            State.SECRET_FAILED,
            f"The token command failed ({type(error).__name__}); run it by hand to see why.",
        ) from None
    token = done.stdout[:_TOKEN_BYTES].decode("ascii", "replace").strip()
    if not token or not token.isprintable() or " " in token:
        raise SyncFailed(State.SECRET_FAILED, "The token command must print one access token, and nothing else.")
    return token
