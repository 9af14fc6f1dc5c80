"""How long a child may take: seconds of its own processor time, of which a busy machine gives it little at once."""

import os
import time
from pathlib import Path

# By the clock on the wall it may take so many times as long, whatever else the machine does.
_PATIENCE = 3
# Fields of /proc/PID/stat after the name in brackets: user and system time, in ticks.
_USER, _SYSTEM = 11, 12


class Allowance:
    """Seconds that the child *pid* may take from now on."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid, self._seconds = pid, seconds
        self._began, self._used = time.monotonic(), _processor_seconds(pid)
        # It can't have used more than has passed, so there is nothing to look at before.
        self._look = self._began + seconds

    def add(self, seconds: float) -> None:
        """Allow so many more."""
        self._seconds += seconds
        self._look = max(self._look, time.monotonic()) + seconds

    @property
    def wait_seconds(self) -> float:
        """How long to wait for the child before asking whether it is `over`."""
        return max(self._look - time.monotonic(), 0.0)

    @property
    def over(self) -> bool:
        """Whether it has taken all that it was allowed."""
        now, used = time.monotonic(), _processor_seconds(self._pid)
        end = self._began + _PATIENCE * self._seconds
        # Where the system does not tell, the clock decides.
        left = self._seconds - (used - self._used) if used is not None and self._used is not None else 0.0
        if left <= 0 or now >= end:
            return now >= self._look
        self._look = min(now + left, end)
        return False


def _processor_seconds(pid: int) -> float | None:
    """What *pid* has used so far; None where that can't be known."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = told[told.rindex(")") + 2 :].split()
        return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
