"""Parsing in a child process that can be killed: no message can hang, crash or exhaust the importer.

The child is started once and reused. It has no environment, no open files but its two pipes, and limits of memory and
processor time. What comes back is unpickled with a list of allowed classes, so even a child that hostile bytes took
over can hand nothing else to its parent.
"""

import contextlib
import copyreg
import io
import os
import pickle
import resource
import select
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from mailsearch.hits import Authentication, Block, Link, PartLinks, Region
from mailsearch.ingest import collecting, language, mime, minimal
from mailsearch.ingest.allowance import Allowance
from mailsearch.ingest.parsed import Defect, ParsedAddress, ParsedAttachment, ParsedMessage, ParsedText

MEMORY = 1 << 30
PARSE_SECONDS = 10.0
ATTACHMENT_SECONDS = 20.0
# A child is replaced after so many messages, so that what leaks in other people's parsers stays small.
_MESSAGES_A_CHILD = 50_000
_ATTEMPTS = 4
# How many messages, and of how many bytes, are handed over in one piece.
_TOGETHER = 64
_BYTES_TOGETHER = 1_000_000
_LENGTH = struct.Struct("!Q")
_ALLOWED = {
    "mailsearch.ingest.parsed": {"Defect", "ParsedAddress", "ParsedText", "ParsedAttachment", "ParsedMessage"},
    "mailsearch.hits": {"Authentication", "Block", "Link", "PartLinks", "Region"},
    "datetime": {"datetime", "timezone", "timedelta", "date"},
    "builtins": {"frozenset", "set"},
}


class _ChildGoneError(Exception):
    """The child ended; `reason` is `timed_out` or `crashed`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Worker:
    """A child process that parses messages. Not for use by several threads at once. Close it, or use it in `with`.

    *parse_seconds* bound headers and bodies of one message, *attachment_seconds* all its attachments: processor time of
    the child, which on a busy machine may take a while. In *models* the model of languages may be laid out.
    """

    def __init__(
        self,
        *,
        memory: int = MEMORY,
        parse_seconds: float = PARSE_SECONDS,
        attachment_seconds: float = ATTACHMENT_SECONDS,
        models: Path | None = None,
    ) -> None:
        self._memory = memory
        self._models = str(models) if models else ""
        self._parse_seconds = parse_seconds
        self._attachment_seconds = attachment_seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._served = 0

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def parse(self, raw: bytes, *, trusted_authserv_id: str = "", read_attachments: bool = True) -> ParsedMessage:
        """`mime.parse` in the child. Never raises for anything in *raw*, never takes longer than the limits.

        An attachment that takes too long or kills the child comes back as `timed_out` or `corrupt`, the rest of the
        message intact. If the message itself does, a minimal one comes back with the defect `timed_out` or `crashed`.
        """
        unreadable: dict[int, str] = {}
        for _attempt in range(_ATTEMPTS):
            outcome = self._attempt(raw, trusted_authserv_id, read_attachments, unreadable)
            if outcome is not None:
                return outcome
        # Attachment after attachment kills the child: the message is kept without the text of any.
        return self.parse(raw, trusted_authserv_id=trusted_authserv_id, read_attachments=False)

    def parse_many(
        self, raws: Iterable[bytes], *, trusted_authserv_id: str = "", read_attachments: bool = True
    ) -> Iterator[ParsedMessage]:
        """`parse` for each of *raws*, in order.

        Many go to the child in one piece, which halves what the way there and back costs. Where one of them ends the
        child, or all together take longer than one may, each is parsed by itself.
        """
        for some in _pieces(raws):
            together = self._together(some, trusted_authserv_id, read_attachments) if len(some) > 1 else None
            if together is not None:
                yield from together
                continue
            for raw in some:
                yield self.parse(raw, trusted_authserv_id=trusted_authserv_id, read_attachments=read_attachments)

    @property
    def process_id(self) -> int | None:
        """The child's process id, or None where there is none."""
        return self._child.pid if self._child else None

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        self._served = 0
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                _pipe(pipe).close()

    def _together(self, raws: Sequence[bytes], trusted: str, read_attachments: bool) -> list[ParsedMessage] | None:
        """All of *raws* parsed in one go; None where that failed."""
        child = self._running(len(raws))
        allowed = Allowance(child.pid, self._parse_seconds)
        try:
            request = ("messages", raws, trusted, read_attachments)
            self._send(child, pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL), allowed)
            kind, value = self._receive(child, allowed)
        except _ChildGoneError:
            self.close()
            return None
        parsed = [one for one in value if isinstance(one, ParsedMessage)] if isinstance(value, list) else []
        return parsed if kind == "messages" and len(parsed) == len(raws) else None

    def _attempt(
        self, raw: bytes, trusted: str, read_attachments: bool, unreadable: dict[int, str]
    ) -> ParsedMessage | None:
        """One try; None where an attachment ended the child, which *unreadable* then names."""
        attachment = -1
        child = self._running()
        allowed = Allowance(child.pid, self._parse_seconds)
        try:
            self._send(child, pickle.dumps(("message", raw, trusted, read_attachments, unreadable)), allowed)
            while True:
                kind, value = self._receive(child, allowed)
                if kind == "message":
                    return value if isinstance(value, ParsedMessage) else minimal.message(raw, "crashed")
                if attachment < 0:
                    allowed.add(self._attachment_seconds)
                attachment = int(str(value))
        except _ChildGoneError as gone:
            self.close()
            if attachment < 0:
                return minimal.message(raw, gone.reason)
            unreadable[attachment] = "timed_out" if gone.reason == "timed_out" else "corrupt"
            return None

    def _running(self, messages: int = 1) -> subprocess.Popen[bytes]:
        if self._served >= _MESSAGES_A_CHILD or (self._child is not None and self._child.poll() is not None):
            self.close()
        if self._child is None:
            code = (
                f"import sys; sys.path[:] = {sys.path!r}\n"
                f"from mailsearch.ingest import limits\nlimits.serve({self._memory}, {self._models!r})"
            )
            # -I and an environment of our own: nothing of the caller's settings or secrets reaches the child. The
            # language model's library would set memory aside for each core, which the limit of memory forbids.
            self._child = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"OPENBLAS_NUM_THREADS": "1"},
                close_fds=True,
                start_new_session=True,
            )
            os.set_blocking(_pipe(self._child.stdin).fileno(), False)
            os.set_blocking(_pipe(self._child.stdout).fileno(), False)
        self._served += messages
        return self._child

    def _send(self, child: subprocess.Popen[bytes], data: bytes, allowed: Allowance) -> None:
        descriptor = _pipe(child.stdin).fileno()
        view = memoryview(_LENGTH.pack(len(data)) + data)
        while view:
            _wait(descriptor, allowed, writing=True)
            try:
                view = view[os.write(descriptor, view[: 1 << 20]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise _ChildGoneError("crashed") from error

    def _receive(self, child: subprocess.Popen[bytes], allowed: Allowance) -> tuple[str, object]:
        (length,) = _LENGTH.unpack(self._read(child, _LENGTH.size, allowed))
        if length > self._memory:
            raise _ChildGoneError("crashed")
        return _loads(self._read(child, length, allowed))

    def _read(self, child: subprocess.Popen[bytes], count: int, allowed: Allowance) -> bytes:
        descriptor = _pipe(child.stdout).fileno()
        pieces: list[bytes] = []
        while count:
            _wait(descriptor, allowed, writing=False)
            try:
                piece = os.read(descriptor, min(count, 1 << 20))
            except BlockingIOError:
                continue
            if not piece:
                raise _ChildGoneError("crashed")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


def _pieces(raws: Iterable[bytes]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    size = 0
    for raw in raws:
        if some and (len(some) == _TOGETHER or size + len(raw) > _BYTES_TOGETHER):
            yield some
            some, size = [], 0
        some.append(raw)
        size += len(raw)
    if some:
        yield some


def _pipe(pipe: "io.BufferedWriter | BinaryIO | object") -> BinaryIO:
    assert pipe is not None
    return pipe  # type: ignore[return-value]


def _wait(descriptor: int, allowed: Allowance, *, writing: bool) -> None:
    for_writing, for_reading = ([descriptor], []) if writing else ([], [descriptor])
    while not any(select.select(for_reading, for_writing, [], allowed.wait_seconds)):
        if allowed.over:
            raise _ChildGoneError("timed_out")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if name not in _ALLOWED.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} may not come from a child")
        return super().find_class(module, name)


def _loads(data: bytes) -> tuple[str, object]:
    try:
        kind, value = _Unpickler(io.BytesIO(data)).load()
    except Exception as error:
        # A child that hostile bytes took over may send anything; every way in which that fails is the same to us.
        raise _ChildGoneError("crashed") from error
    return str(kind), value


def serve(memory: int, models: str = "") -> None:
    """The child: read requests from standard input, write results to standard output, until the parent closes it."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.setrecursionlimit(2_000)
    collecting.rarely()
    if models:
        language.use_model(Path(models))
    requests, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not end up between the results.
    os.dup2(2, 1)
    while header := requests.read(_LENGTH.size):
        (length,) = _LENGTH.unpack(header)
        kind, *request = pickle.loads(requests.read(length))  # noqa: S301
        _limit_processor_time()
        _write(results, (kind, _parse_many(*request) if kind == "messages" else _parse(results, *request)))


def _parse_many(raws: Sequence[bytes], trusted: str, read_attachments: bool) -> list[ParsedMessage]:
    parsed = []
    for raw in raws:
        try:
            parsed.append(mime.parse(raw, trusted_authserv_id=trusted, read_attachments=read_attachments))
        except Exception as error:  # noqa: BLE001
            parsed.append(_failed(raw, error))
    return parsed


def _parse(
    results: BinaryIO, raw: bytes, trusted: str, read_attachments: bool, unreadable: dict[int, str]
) -> ParsedMessage:
    count = -1

    def read_text(content: bytes, content_type: str, filename: str) -> tuple[str, ParsedText]:
        nonlocal count
        count += 1
        if count in unreadable:
            return unreadable[count], ParsedText("")
        _write(results, ("attachment", count))
        # Takes longer to load than a hundred messages to parse, and most of them have no file.
        from mailsearch.ingest import attachments

        return attachments.read_text(content, content_type, filename)

    try:
        if read_attachments:
            return mime.parse_with(raw, read_text, trusted)
        return mime.parse(raw, trusted_authserv_id=trusted, read_attachments=False)
    except Exception as error:  # noqa: BLE001
        return _failed(raw, error)


def _failed(raw: bytes, error: Exception) -> ParsedMessage:
    """The last fence of the parser: a mistake of ours must cost one message its text, never the import."""
    explanation = f"The parser failed: {type(error).__name__}."
    return replace(minimal.message(raw, "crashed"), defects=(Defect("crashed", "", explanation),))


def _limit_processor_time() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = int(used.ru_utime + used.ru_stime + 2 * (PARSE_SECONDS + ATTACHMENT_SECONDS)) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _write(results: BinaryIO, value: tuple[str, object]) -> None:
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    data = buffer.getvalue()
    results.write(_LENGTH.pack(len(data)) + data)
    results.flush()


def _as_call(kind: type[Any]) -> Callable[[Any], tuple[type[Any], tuple[Any, ...]]]:
    """How a value of the data class *kind* is pickled: as a call of it, at a third of what the usual way costs."""
    values = attrgetter(*(one.name for one in fields(kind)))
    return lambda one: (kind, values(one))


class _Pickler(pickle.Pickler):
    # All that a message is made of.
    dispatch_table = copyreg.dispatch_table.copy() | {
        kind: _as_call(kind)
        for kind in (
            ParsedMessage, ParsedText, ParsedAttachment, ParsedAddress, Defect,
            Authentication, Block, Link, PartLinks, Region,
        )
    }  # fmt: skip
