"""A run before it runs: the question as it was asked, the models that may answer it, and what was admitted."""

import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from agentic.audit import Recorder
from agentic.callers import Principal
from agentic.core.budget import Limits
from agentic.core.events import Event
from agentic.core.loop import Loop
from agentic.core.ports import Model
from agentic.core.question import Question
from agentic.links import RunChain
from agentic.llm.wire import Prices
from agentic.overhead import Moments
from agentic.policies import EffectivePolicy
from agentic.rows import Clock, Sheet
from mailsearch.hits import Filters
from mailsearch.scope import Scope

_NO_PRICES = Prices()


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as a request holds it. What is None comes from the tenant."""

    text: str
    filters: Filters = dataclasses.field(default_factory=Filters)
    filters_given: Mapping[str, object] = dataclasses.field(default_factory=dict)
    max_steps: int | None = None
    max_seconds: float | None = None
    timezone: str | None = None
    now: datetime | None = None
    idempotency_key: str = ""
    body_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Models:
    """The model that answers and the one that is asked before giving up."""

    answering: Model
    fallback: Model | None = None
    # False for the built-in reader, which costs nothing and can be asked nothing but a run's question.
    chat: bool = True
    # Of the dearer of the two, as far as they are known.
    prices: Prices = _NO_PRICES
    # Whether the day counts as used up: for the sandbox's question that shows it.
    used_up: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A run that was admitted and written down."""

    principal: Principal
    run: int
    public_id: str
    question: Question
    limits: Limits
    scope: Scope
    policy: EffectivePolicy
    models: Models
    # Moment on `time.monotonic` at which the request came; the response leaves within max_seconds of it.
    began: float
    # Where the run's chain stands after its head, and the database's time.
    chain: RunChain
    clock: Clock
    # By when its loop, its end and its response must be done, so that it leaves within max_seconds.
    moments: Moments
    # What was begun, where its first events were written down with it.
    opened: "Opened | None" = None

    @property
    def recorder(self) -> Recorder:
        """The writer of what happens in the run: a new one unless it was begun."""
        if self.opened is not None:
            return self.opened.recorder
        return Recorder(self.principal.tenant, self.run, self.public_id, self.began, self.chain, self.clock)


@dataclass(frozen=True, slots=True)
class Opened:
    """A run's loop, what of it is still to come, and the recorder that has noted what came of it so far."""

    loop: Loop
    batches: AsyncGenerator[tuple[Event, ...], None]
    recorder: Recorder


# Begins a run over the sheet of its head, before anything of either is written.
Opening = Callable[[Started, Sheet], Awaitable[Opened]]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The run that the same request had started before."""

    public_id: str
