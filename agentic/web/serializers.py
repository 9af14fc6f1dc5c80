"""The bodies of requests. What they do not name is refused by name."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema
from rest_framework import serializers

from agentic import filters
from agentic.verifying import MAX_QUOTES, MAX_UNITS

# Names of fields that are none: how many of them are told, and how much of each.
_NAMED, _LONGEST_NAME = 20, 100
_SURROGATE = re.compile("[\ud800-\udfff]")
_FILTERS = jsonschema.Draft202012Validator(
    {"type": "object", "properties": filters.PROPERTIES, "additionalProperties": False}
)


class ClosedSerializer(serializers.Serializer[Any]):
    """Refuses fields that it does not have, each by its name, along with whatever is wrong with the others."""

    def to_internal_value(self, data: Any) -> Any:
        names = set(data) - set(self.fields) if isinstance(data, Mapping) else ()
        unknown = _unknown(names, "field", self.fields)
        try:
            known = super().to_internal_value(data)
        except serializers.ValidationError as error:
            named = error.detail if isinstance(error.detail, dict) else {}
            if not unknown or not named:
                raise
            raise serializers.ValidationError({**named, **unknown}) from error
        if unknown:
            raise serializers.ValidationError(unknown)
        return known


def _unknown(names: Iterable[Any], what: str, there_are: Iterable[str]) -> dict[str, list[str]]:
    """What to say of names that are none; of a flood of them only the first."""
    told = f"There is no such {what}; there are: {', '.join(there_are)}."
    return {name[:_LONGEST_NAME]: [told] for name in sorted(map(str, names))[:_NAMED]}


class FiltersField(serializers.JSONField):
    """What narrows a search: mailbox, folder, from, to, cc, subject, filename, after, before, has_attachment, …"""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        errors: dict[str, list[str]] = {}
        for error in _FILTERS.iter_errors(value):
            if error.validator == "additionalProperties":
                errors |= _unknown(set(value) - set(filters.PROPERTIES), "filter", filters.PROPERTIES)
            else:
                place = str(error.absolute_path[0]) if error.absolute_path else "non_field_errors"
                errors[place] = ["This is no value for that filter."]
        # Half of a surrogate pair is no text: it can't be searched for, nor be shown again.
        errors |= {
            name: ["This is no value for that filter."]
            for name, one in (value.items() if isinstance(value, Mapping) else ())
            if _SURROGATE.search(json.dumps(one, ensure_ascii=False))
        }
        if errors:
            raise serializers.ValidationError(errors)
        return value


class ZoneField(serializers.CharField):
    """The name of an IANA time zone."""

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError) as error:
            raise serializers.ValidationError("There is no such time zone; write Europe/Berlin or UTC.") from error
        return name


def _is_number(value: float) -> None:
    # Of "nan" neither bound is true nor false, and every deadline made of it has passed.
    if not math.isfinite(value):
        raise serializers.ValidationError("Ensure this value is a number.")


class BudgetSerializer(ClosedSerializer):
    """Limits of one run, which only lower the tenant's."""

    max_steps = serializers.IntegerField(min_value=1, max_value=20, required=False)
    max_seconds = serializers.FloatField(min_value=1, max_value=120, required=False, validators=[_is_number])


class SearchSerializer(ClosedSerializer):
    """A search, or with mode `agentic` a question."""

    query = serializers.CharField(max_length=2000, allow_blank=True)
    mode = serializers.ChoiceField(["keyword", "semantic", "hybrid", "agentic"], default="hybrid")
    filters = FiltersField(default=dict)
    limit = serializers.IntegerField(min_value=1, max_value=100, default=20)
    cursor = serializers.CharField(max_length=1000, default="", allow_blank=True)
    stream = serializers.BooleanField(default=False)
    budget = BudgetSerializer(default=dict)
    timezone = ZoneField(max_length=64, required=False)
    now = serializers.DateTimeField(required=False, default_timezone=UTC)


class QuoteSerializer(ClosedSerializer):
    """Words given as verbatim from a message."""

    message = serializers.CharField(max_length=60)
    text = serializers.CharField(max_length=400)


class ClaimSerializer(ClosedSerializer):
    """One statement with what it cites."""

    text = serializers.CharField(max_length=1000)
    citations = serializers.ListField(child=serializers.CharField(max_length=60), max_length=8, default=list)
    quotes = serializers.ListField(child=QuoteSerializer(), max_length=8, default=list)


class VerifySerializer(ClosedSerializer):
    """An answer to be verified: prose that cites by `[msg_…]`, or statements with their citations."""

    text = serializers.CharField(max_length=20_000, required=False)
    sentences = serializers.ListField(child=ClaimSerializer(), min_length=1, max_length=MAX_UNITS, required=False)
    policy = serializers.ChoiceField(["standard", "strict"], required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("text" in attrs) == ("sentences" in attrs):
            raise serializers.ValidationError({"text": ["Give either text or sentences."]})
        if sum(len(one["quotes"]) for one in attrs.get("sentences", ())) > MAX_QUOTES:
            raise serializers.ValidationError({"sentences": [f"Give at most {MAX_QUOTES} quotes in all."]})
        return attrs


class QuarantineSerializer(ClosedSerializer):
    """Whether a message is to be quarantined, and why."""

    quarantined = serializers.BooleanField()
    reason = serializers.CharField(max_length=500)
