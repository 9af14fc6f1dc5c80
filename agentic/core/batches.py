"""Events in batches: what is written down together, before anything more is done."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from agentic.core.events import Due, Event

Happenings = AsyncGenerator[Event | Due, None]


async def batched(happenings: Happenings) -> AsyncGenerator[tuple[Event, ...], None]:
    """The events up to each `Due` together, and what is left at the end. No batch is empty."""
    batch: list[Event] = []
    async with aclosing(happenings):
        async for happening in happenings:
            if not isinstance(happening, Due):
                batch.append(happening)
            elif batch:
                whole, batch = tuple(batch), []
                yield whole
    if batch:
        yield tuple(batch)
