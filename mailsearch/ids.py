"""Public ids: random, without meaning, and no capability."""

import secrets
import string

_ALPHABET = string.ascii_letters + string.digits
# 22 draws from 62 characters are 130 bits.
_LENGTH = 22


def public_id(prefix: str) -> str:
    """A fresh id like `msg_7Q2mXK9v4TzR1sYb8NcWfA`."""
    return f"{prefix}_{''.join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))}"


def message_public_id() -> str:
    return public_id("msg")


def thread_public_id() -> str:
    return public_id("thr")


def attachment_public_id() -> str:
    return public_id("att")
