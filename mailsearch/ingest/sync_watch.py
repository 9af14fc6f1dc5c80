"""When each source is to be looked at again: when its server rings, or after a while, and less often where it fails."""

import select
import time
from collections.abc import Iterable

from mailsearch.ingest.imap_bell import Bell
from mailsearch.ingest.sync_failures import SyncFailed
from mailsearch.models import MailSource

# Seconds until the next look: where nothing rings, where INBOX rings (for the other folders), and at most after errors.
_POLL, _BELL, _LONGEST = 60.0, 300.0, 3_600.0


class Watch:
    """Sources that are watched. Say what to `follow`, ask `due`, sync, `report` how it went, and again."""

    def __init__(self, sources: Iterable[MailSource] = (), *, poll: float = _POLL) -> None:
        self._sources: dict[int, MailSource] = {}
        self._poll = poll
        self._next: dict[int, float] = {}
        self._failures: dict[int, int] = {}
        self._bells: dict[int, Bell] = {}
        self._mute: set[int] = set()
        self.follow(sources)

    def follow(self, sources: Iterable[MailSource]) -> None:
        """Watch *sources* from here on: new ones at once, and those no more that are missing."""
        self._sources = {source.pk: source for source in sources}
        for pk in self._bells.keys() - self._sources.keys():
            self._drop(pk)
        self._next = {pk: self._next.get(pk, 0.0) for pk in self._sources}
        self._failures = {pk: self._failures.get(pk, 0) for pk in self._sources}

    def due(self, *, longest: float = _POLL) -> list[MailSource]:
        """Waits until something is to be looked at, and says what; nothing after *longest* seconds."""
        until = time.monotonic() + longest
        while not (now_due := [pk for pk, moment in self._next.items() if moment <= time.monotonic()]):
            left = min([until, *self._next.values()]) - time.monotonic()
            if until <= time.monotonic():
                break
            self._listen(max(left, 0))
        return [self._sources[pk] for pk in now_due]

    def report(self, source: MailSource, *, ok: bool) -> None:
        """Say how the look went, which decides when the next one is."""
        pk = source.pk
        self._failures[pk] = 0 if ok else self._failures[pk] + 1
        if not ok:
            self._drop(pk)
        wait = min(self._poll * 2 ** min(self._failures[pk], 20), max(_LONGEST, self._poll))
        if ok and not self._rings(pk):
            # Mail may have come between the look and the bell: one more look, which costs little.
            wait = 0.0 if self._hang(source) else wait
        elif ok:
            wait = _BELL
        self._next[pk] = time.monotonic() + wait

    def close(self) -> None:
        for pk in list(self._bells):
            self._drop(pk)

    def _rings(self, pk: int) -> bool:
        bell = self._bells.get(pk)
        if bell is not None and bell.is_worn:
            self._drop(pk)
        return pk in self._bells

    def _hang(self, source: MailSource) -> bool:
        """Have the source ring from now on; whether it can."""
        if source.kind != "imap" or source.pk in self._mute:
            return False
        try:
            bell = Bell(source)
        except SyncFailed:
            return False
        self._bells[source.pk] = bell
        if not bell.offered:
            self._mute.add(source.pk)
            self._drop(source.pk)
        return bell.offered

    def _listen(self, seconds: float) -> None:
        sockets = {bell.socket: pk for pk, bell in self._bells.items()}
        readable, _, _ = select.select(list(sockets), [], [], seconds)
        for found in readable:
            pk = sockets[found]
            if self._bells[pk].rang():
                self._next[pk] = 0.0
            if self._bells[pk].is_over:
                self._drop(pk)
                # As after any error: servers that hang up at once are not to be called without end.
                self._next[pk] = min(self._next[pk], time.monotonic() + self._poll)

    def _drop(self, pk: int) -> None:
        bell = self._bells.pop(pk, None)
        if bell is not None:
            bell.close()
