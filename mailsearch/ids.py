"""Public ids: random, without meaning, and no capability."""

import secrets
import string

_ALPHABET = string.ascii_letters + string.digits
# 22 characters of 62 are 130 bits.
_LENGTH = 22
_COUNT = len(_ALPHABET) ** _LENGTH


def public_id(prefix: str) -> str:
    """A fresh id like `msg_7Q2mXK9v4TzR1sYb8NcWfA`."""
    # One draw for all characters: an import makes millions of ids, and each draw asks the system for random bytes.
    number = secrets.randbelow(_COUNT)
    characters = []
    for _ in range(_LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[place])
    return f"{prefix}_{''.join(characters)}"


def message_public_id() -> str:
    return public_id("msg")


def thread_public_id() -> str:
    return public_id("thr")


def attachment_public_id() -> str:
    return public_id("att")
