"""The key that seals the audit: Ed25519 (RFC 8032), so that whoever has the public half can check and nobody forge."""

import base64
import hashlib
from collections.abc import Mapping
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

_ALGORITHM = "ed25519"


class UnreadableKey(ValueError):
    """A key that is not 32 bytes in base64."""


def sign(number: int, entry: bytes) -> str:
    """The signature over entry *number* of a tenant's chain, whose hash is *entry*: `ed25519:<key id>:<base64>`."""
    private = _private(settings.PM_AUDIT_KEY)
    signed = base64.b64encode(private.sign(_message(number, entry))).decode()
    return f"{_ALGORITHM}:{key_id(_public_bytes(private.public_key()))}:{signed}"


def check(number: int, entry: bytes, signature: str, keys: "Mapping[str, Ed25519PublicKey] | None" = None) -> str:
    """What is wrong with a *signature* by one of *keys*, else of `trusted()`, in words; empty where nothing is."""
    algorithm, _, rest = signature.partition(":")
    name, _, signed = rest.partition(":")
    key = (trusted() if keys is None else keys).get(name)
    if algorithm != _ALGORITHM or key is None:
        return f"it is signed by a key that is not trusted here ({name or 'none'})"
    try:
        key.verify(base64.b64decode(signed, validate=True), _message(number, entry))
    except (InvalidSignature, ValueError):
        return "its signature is not genuine"
    return ""


def trusted() -> "Mapping[str, Ed25519PublicKey]":
    """The public keys that may have signed, by id: that of PM_AUDIT_KEY, and PM_AUDIT_FORMER_KEYS."""
    return _trusted(settings.PM_AUDIT_KEY, tuple(settings.PM_AUDIT_FORMER_KEYS))


def public_key(private: str) -> str:
    """The public half of a private key, both in base64. Raises UnreadableKey."""
    return base64.b64encode(_public_bytes(_private(private).public_key())).decode()


def new_key() -> str:
    """A fresh private key, as PM_AUDIT_KEY takes it."""
    return base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()).decode()


def public_keys(given: tuple[str, ...]) -> "dict[str, Ed25519PublicKey]":
    """Public keys (base64) by their ids. Raises UnreadableKey."""
    raw = [_decoded(one) for one in given]
    return {key_id(one): Ed25519PublicKey.from_public_bytes(one) for one in raw}


def key_id(public: bytes) -> str:
    """Sixteen hexadecimal digits of the key's SHA-256: enough to tell keys apart, and no secret."""
    return hashlib.sha256(public).hexdigest()[:16]


def _message(number: int, entry: bytes) -> bytes:
    return f"mailsearch audit seal 1\n{number}\n{entry.hex()}".encode()


@lru_cache(8)
def _private(text: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(_decoded(text))


@lru_cache(8)
def _trusted(private: str, former: tuple[str, ...]) -> "dict[str, Ed25519PublicKey]":
    return public_keys((public_key(private), *former))


def _public_bytes(public: Ed25519PublicKey) -> bytes:
    return public.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _decoded(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise UnreadableKey("a key must be 32 bytes in base64") from error
    if len(raw) != 32:
        raise UnreadableKey("a key must be 32 bytes in base64")
    return raw
