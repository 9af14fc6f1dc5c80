"""Quarantine set and lifted: a state that no scope includes.

It covers what is inside a message and every message with equal words, so that mail which was taken out does not stay
by its copies. Who did it and why is for the caller to record.
"""

from collections.abc import Iterable

from mailsearch.models import Message


def change(message: Message, *, quarantined: bool) -> list[int]:
    """Set or lift the quarantine of *message* and all that it covers; returns the ids whose state changed.

    Runs within a session that is bound to the mailboxes it may touch and sees quarantined mail.
    """
    chosen = Message.objects.filter(pk__in=covered(message)).exclude(quarantined=quarantined)
    ids = sorted(chosen.values_list("pk", flat=True))
    Message.objects.filter(pk__in=ids).update(quarantined=quarantined)
    return ids


def covered(message: Message) -> set[int]:
    """The ids of *message*, of all with equal words, and of what is inside of them, at any depth."""
    equal = Message.objects.filter(tenant=message.tenant_id, words_sha256=message.words_sha256)
    return with_nested({message.pk, *equal.values_list("pk", flat=True)})


def with_nested(messages: Iterable[int]) -> set[int]:
    """The ids *messages* and those of the messages inside of them, at any depth."""
    chosen = set(messages)
    found = chosen
    while found:
        found = set(Message.objects.filter(container__in=found).values_list("pk", flat=True)) - chosen
        chosen |= found
    return chosen
