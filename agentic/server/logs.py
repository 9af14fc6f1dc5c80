"""How a line of the log looks: what failed and where, and never what it failed on.

The words of an error may be mail: a database names the value that it could not keep, a parser the text that it could
not read. So a traceback is told by the kinds of its errors and the places in code.
"""

import logging
import traceback
from types import TracebackType
from typing import TypeAlias

_Info: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_FRAMES_AT_MOST = 30


class Line(logging.Formatter):
    """Tells errors without their words."""

    def formatException(self, ei: _Info) -> str:  # noqa: N802 - the library's name
        """One line for each error, from the first cause on, with the frames that it went through."""
        lines: list[str] = []
        error = ei[1]
        while error is not None:
            frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_AT_MOST:]
            places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
            lines.append(f"{type(error).__module__}.{type(error).__qualname__} at {places or 'unknown'}")
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\n".join(reversed(lines))
