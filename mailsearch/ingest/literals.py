"""Arrays as Postgres reads them: written here in one go, since the driver asks for the kind of each element anew."""

from collections.abc import Iterable


def array(values: Iterable[object]) -> str:
    """The array of *values* whose text needs no quoting: numbers, truth values, moments in ISO 8601, public ids."""
    return "{" + ",".join(map(str, values)) + "}"


def bytes_array(values: Iterable[bytes]) -> str:
    """The array of bytea *values*."""
    return "{" + ",".join(['"\\\\x' + one.hex() + '"' for one in values]) + "}"


def text_array(values: Iterable[str]) -> str:
    """The array of text *values*, whatever stands in them (but NUL, which no text of Postgres holds)."""
    return "{" + ",".join(['"' + one.replace("\\", "\\\\").replace('"', '\\"') + '"' for one in values]) + "}"
