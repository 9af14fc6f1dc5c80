"""The settings of a tenant, each with its bounds and unit, and how what a person writes becomes a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from django.core.exceptions import ValidationError

from agentic.models import AgentPolicy
from agentic.policies import DAILY_CAP, KEY_SHARE, SECONDS, STEPS, EffectivePolicy

Value: TypeAlias = int | str | bool | Decimal | None
_LONGEST = 40
_JUDGE = (("1", "yes"), ("0", "no"))


class OutOfBounds(ValueError):
    """What was written is no value of the setting; the message says what is."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One setting. `name` is its column, `title` the name by which it is known everywhere else."""

    name: str
    title: str
    unit: str
    bounds: str
    # What holds where neither the tenant nor the defaults' row says anything.
    builtin: Value
    help: str
    choices: tuple[tuple[str, str], ...] = ()

    def read(self, text: str) -> Value:
        """The value that *text* means; None, which inherits, for no text. Raises OutOfBounds."""
        text = text.strip()
        if not text:
            return None
        try:
            value: Value = _column(self.name).clean(_bare(text) if not self.choices else text, None)
        except ValidationError as error:
            raise OutOfBounds(f"{self.title} takes {self.bounds}, so “{text[:_LONGEST]}” is none.") from error
        return value

    def words(self, value: Value) -> str:
        """A value with its unit; None as what it means without a value."""
        if value is None:
            return "no cap" if self.unit != "days" else "for ever"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return value
        number = f"{value:.2f}" if isinstance(value, Decimal) else f"{value:,}"
        return f"{number} {self.unit}"

    def written(self, value: Value) -> str:
        """A value as the form shows it."""
        if isinstance(value, bool):
            return "1" if value else "0"
        return "" if value is None else str(value)

    def held(self, policy: EffectivePolicy) -> Value:
        """The value that is in force under *policy*."""
        found: Value = _HELD[self.name](policy)
        return found


def _bare(text: str) -> str:
    """Digits without the separators that people write between thousands."""
    return text.replace(" ", "").replace("\u202f", "").replace(",", "") if text.isascii() else text


def _column(name: str) -> Any:
    return AgentPolicy._meta.get_field(name)


_HELD: Mapping[str, Any] = {
    "agentic_max_steps": lambda policy: policy.max_steps,
    "agentic_max_seconds": lambda policy: policy.max_seconds,
    "agentic_daily_cap": lambda policy: policy.caps.runs,
    "agentic_daily_tokens": lambda policy: policy.caps.tokens,
    "agentic_daily_cost_usd": lambda policy: policy.caps.cost_usd,
    "agentic_key_share": lambda policy: policy.caps.key_share,
    "verification": lambda policy: policy.verification,
    "removed_text": lambda policy: policy.removed_text,
    "model_judge": lambda policy: policy.model_judge,
    "audit_text_days": lambda policy: policy.text_days,
}
LIMITS = (
    Limit(
        "agentic_max_steps", "search.agentic_max_steps", "steps", "whole numbers from 1 to 20", STEPS,
        "Replies of the model that one run may use. The last is kept for the answer.",
    ),
    Limit(
        "agentic_max_seconds", "search.agentic_max_seconds", "s", "whole numbers from 1 to 120", SECONDS,
        "Seconds within which a run's response leaves. Three tenths, at least 1.5 s, are kept for the answer.",
    ),
    Limit(
        "agentic_daily_cap", "search.agentic_daily_cap", "runs a day", "whole numbers from 0 to 1,000,000", DAILY_CAP,
        "Runs that may be started in a day of the tenant's time zone; 0 switches them off.",
    ),
    Limit(
        "agentic_daily_tokens", "search.agentic_daily_tokens", "tokens a day",
        "whole numbers from 1 to 1,000,000,000,000", None, "Tokens of prompts and replies together.",
    ),
    Limit(
        "agentic_daily_cost_usd", "search.agentic_daily_cost_usd", "USD a day", "amounts from 0.01 to 99999999.99",
        None, "What the model may cost, by its list prices where they are known.",
    ),
    Limit(
        "agentic_key_share", "search.agentic_key_share", "% a key", "whole numbers from 1 to 100", KEY_SHARE,
        "Per cent of each daily cap that one key or person may use.",
    ),
    Limit(
        "verification", "verification", "", "standard or strict", "standard",
        "Standard keeps quoted and cited sentences, strict only those with a verified quote.",
        tuple((value, value) for value in AgentPolicy.Verification.values),
    ),
    Limit(
        "removed_text", "removed_text", "", "masked, withheld or full", "masked",
        "How callers see what was taken out of an answer. Under strict verification it is withheld unless set.",
        tuple((value, value) for value in AgentPolicy.RemovedText.values),
    ),
    Limit(
        "model_judge", "model_judge", "", "yes or no", False,
        "Whether a chat model is asked about each answer that stands. It can only lower it, and costs one step.",
        _JUDGE,
    ),
    Limit(
        "audit_text_days", "audit.text_days", "days", "whole numbers from 1 to 36,500", None,
        "Days after which the words of runs may be deleted (manage.py retain). What happened stays on record.",
    ),
)  # fmt: skip
BY_NAME: Mapping[str, Limit] = {one.name: one for one in LIMITS}
