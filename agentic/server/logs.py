"""How a line of the log looks: what failed and where, and never what it failed on.

The words of an error may be mail: a database names the value that it could not keep, a parser the text that it could
not read. So a traceback is told by the kinds of its errors and the places in code. What libraries say may hold
anything, too: of theirs only a few loggers' words are passed on, of others' the place alone. Within a run each line
has the run's id.
"""

import json
import logging
import re
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import Any, Literal, TypeAlias

from agentic.server import environment

Format = Literal["json", "text"]
_Info: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_FRAMES_AT_MOST = 30
# Whose words are ours, or a server's that speaks of itself alone.
_OWN = ("agentic", "mailsearch")
_SPEAKS_OF_ITSELF = frozenset({"uvicorn", "uvicorn.error"})
# Whose words are constant where they have arguments, and the arguments may be anything.
_TEMPLATES = ("django", "psycopg")
_ACCESS = "uvicorn.access"
_UNTOLD = "(words left out)"
_PLAIN_SEGMENT = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Line(logging.Formatter):
    """A record as one line of JSON, or of text with the errors' lines below it."""

    def __init__(self, form: Format = "text") -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": _words(record),
            **_bound(),
        }
        errors = told_errors(record.exc_info) if record.exc_info else []
        if self._form == "json":
            seal = getattr(record, "seal", None)
            told |= {"seal": seal} if seal else {}
            told |= {"errors": errors} if errors else {}
            return json.dumps(told, ensure_ascii=False, default=repr)
        bound = "".join(f" {name}={value}" for name, value in _bound().items())
        head = f"{told['time']} {record.levelname} {record.name} {told['event']}{bound}"
        return "\n".join([head, *(f"{one['kind']} at {' < '.join(one['at']) or 'unknown'}" for one in errors)])

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - the library's name
        """UTC, as ISO 8601 has it."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{seconds}.{int(record.msecs):03d}Z"


def _bound() -> dict[str, Any]:
    """What each line of the run that is under way has."""
    # It takes a tenth of a start to load; and where nobody has loaded it, nobody has bound anything.
    structlog = sys.modules.get("structlog.contextvars")
    return dict(structlog.get_contextvars()) if structlog else {}


def told_errors(info: _Info) -> list[dict[str, Any]]:
    """Kind and places of each error, from the first cause on, and no word of it."""
    told: list[dict[str, Any]] = []
    error = info[1]
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_AT_MOST:]
        places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames)]
        told.append({"kind": f"{type(error).__module__}.{type(error).__qualname__}", "at": places})
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return told[::-1]


def configuration() -> dict[str, Any]:
    """Django's LOGGING, by PM_LOG_FORMAT and PM_LOG_LEVEL. Raises ImproperlyConfigured."""
    form = environment.one_of("PM_LOG_FORMAT", ("text", "json"))
    level = environment.one_of("PM_LOG_LEVEL", ("WARNING", "DEBUG", "INFO", "ERROR", "CRITICAL"))
    # Each has handlers of its own by default, which would tell all.
    passed_on = ("django", "django.server", "uvicorn", "uvicorn.error", _ACCESS)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": Line, "form": form}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {name: {"handlers": [], "propagate": True, "level": "NOTSET"} for name in passed_on},
    }


def hush() -> None:
    """What Python itself would print with all its words goes through the log: for processes that serve."""
    # A record that can't be formatted would be printed with its arguments.
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    log = logging.getLogger(__name__)

    def in_thread(hook: threading.ExceptHookArgs) -> None:
        if hook.exc_value is not None:
            log.error("a thread failed", exc_info=hook.exc_value)

    def unraisable(hook: "sys.UnraisableHookArgs") -> None:
        if hook.exc_value is not None:
            log.error("an error could not be raised", exc_info=hook.exc_value)

    threading.excepthook = in_thread
    sys.unraisablehook = unraisable


def _words(record: logging.LogRecord) -> str:
    """What may be told of a record's words."""
    top = record.name.partition(".")[0]
    if top in _OWN or record.name in _SPEAKS_OF_ITSELF:
        return record.getMessage()
    if record.name == _ACCESS:
        return _access(record)
    if top in _TEMPLATES and record.args:
        return str(record.msg)
    return f"{record.module}:{record.lineno} {_UNTOLD}"


def _access(record: logging.LogRecord) -> str:
    """Method, path and status of a request; neither the query nor a part of the path that is no plain name."""
    if not isinstance(record.args, tuple) or len(record.args) != 5:
        return _UNTOLD
    client, method, path, version, status = record.args
    segments = str(path).partition("?")[0].split("/")
    plain = "/".join(one if not one or _PLAIN_SEGMENT.fullmatch(one) else "…" for one in segments)
    return f'{client} "{method} {plain} HTTP/{version}" {status}'
