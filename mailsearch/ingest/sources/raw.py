"""One message as a source hands it over, and what every source can do."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

# Bytes of one message that are kept; what is beyond is cut off and recorded as a defect.
LARGEST_MESSAGE = 50_000_000


@dataclass(frozen=True, slots=True)
class RawMail:
    """A message, byte for byte, with what only its source knows.

    `folder` is relative to the place of import ("" for the top), with "/" between levels. `received_at` is when the
    source took the message in, where it says so; `delivered_at` is a weaker hint, used where the message itself says
    nothing. `origin` tells a person where the message stood. `weight` is its share of the source's size in bytes.
    """

    data: bytes
    origin: str
    folder: str = ""
    flags: tuple[str, ...] = ()
    received_at: datetime | None = None
    delivered_at: datetime | None = None
    weight: int = 0
    truncated: bool = False
    # Why the bytes could not be read, where they could not.
    unreadable: str = ""
    labels: tuple[str, ...] = field(default=())


class Source(Protocol):
    """A place with mail that can be read from its beginning, any number of times."""

    @property
    def kind(self) -> str:
        """eml, msg, mbox, maildir or folder."""

    @property
    def size(self) -> int:
        """Bytes to read, for showing progress."""

    def messages(self) -> Iterator[RawMail]:
        """Every message, one after the other; nothing is held in memory beyond the current one."""
