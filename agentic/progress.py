"""Progress on a terminal, stage by stage; plain lines where there is no terminal."""

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class StageProgress:
    """A bar for each stage, as the stages come."""

    def __init__(self, stream: Any) -> None:
        self._console = Console(file=getattr(stream, "_out", stream))
        self._bars = Progress(
            TextColumn("{task.description:<8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._tasks: dict[str, TaskID] = {}

    def tell(self, stage: str, done: int, of: int) -> None:
        """*done* of *of* pieces of *stage* are finished."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=of)
        self._bars.update(self._tasks[stage], completed=done, total=of)

    def __enter__(self) -> "StageProgress":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()
