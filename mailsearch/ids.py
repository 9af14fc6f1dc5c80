"""Public ids: random, without meaning, and no capability."""

import secrets
import string

_ALPHABET = (string.ascii_letters + string.digits).encode()
# 22 characters of 62 are 130 bits.
_LENGTH = 22
# A random byte below the largest multiple of 62 is a character, each as often as the others; the rest are passed over.
_CHARACTERS = bytes(_ALPHABET[byte % len(_ALPHABET)] for byte in range(256))
_PASSED_OVER = bytes(range(256 - 256 % len(_ALPHABET), 256))


def public_ids(prefix: str, count: int) -> list[str]:
    """*count* fresh ids like `msg_7Q2mXK9v4TzR1sYb8NcWfA`. An import makes millions, so many come of one draw."""
    drawn = ""
    while len(drawn) < count * _LENGTH:
        drawn += secrets.token_bytes(24 * count).translate(_CHARACTERS, _PASSED_OVER).decode("ascii")
    return [f"{prefix}_{drawn[start : start + _LENGTH]}" for start in range(0, count * _LENGTH, _LENGTH)]


def public_id(prefix: str) -> str:
    """One of `public_ids`."""
    return public_ids(prefix, 1)[0]


def message_public_id() -> str:
    return public_id("msg")


def thread_public_id() -> str:
    return public_id("thr")


def attachment_public_id() -> str:
    return public_id("att")
