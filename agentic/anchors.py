"""Where the tenants' chains stood at some moment, kept outside of the database: what was cut off since is found by it.

A file of JSON: `{"version": 1, "made_at": …, "tenants": {slug: {"number", "head", "signature"}}}`, each as in a run's
receipt, so that receipts can be put into one by hand.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentic import signing
from agentic.proving import Proof


class UnreadableAnchor(ValueError):
    """A file that is no anchor, in words that say why."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The end of one tenant's chain, as it once was."""

    number: int
    head: bytes
    signature: str


def read(path: Path) -> Mapping[str, Anchor]:
    """The anchors in a file, by the tenants' slugs. Raises UnreadableAnchor."""
    try:
        given = json.loads(path.read_text())
        return {
            str(slug): Anchor(int(one["number"]), bytes.fromhex(one["head"]), str(one["signature"]))
            for slug, one in given["tenants"].items()
        }
    except OSError as error:
        raise UnreadableAnchor(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableAnchor(f"{path} is no anchor; one is written with --write-anchor.") from error


def write(path: Path, proofs: Iterable[Proof]) -> None:
    """Keep where the chains of *proofs* stand. The file is there as a whole or not at all. Raises OSError."""
    tenants = {
        proof.tenant.slug: {"number": proof.number, "head": proof.head.hex(), "signature": proof.signature}
        for proof in proofs
        if proof.number
    }
    told = {"version": 1, "made_at": datetime.now(UTC).isoformat(timespec="seconds"), "tenants": tenants}
    made = path.with_name(f"{path.name}.{os.getpid()}")
    made.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    made.replace(path)


def compare(anchor: Anchor, proof: Proof) -> Iterator[str]:
    """What of the chain is not as the anchor says, in words; *proof* has read the entry that it wanted."""
    if wrong := signing.check(anchor.number, anchor.head, anchor.signature):
        yield f"the anchor itself does not hold: {wrong}"
        return
    if proof.number < anchor.number:
        first = proof.number + 1
        which = f"entry {first} is" if first == anchor.number else f"entries {first} to {anchor.number} are"
        yield f"the chain was cut: {which} missing with all that they sealed, as the anchor knows"
    elif proof.wanted.get(anchor.number) != anchor.head:
        yield f"entry {anchor.number} is not the one that the anchor knows: the chain was written anew"
