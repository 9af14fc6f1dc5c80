"""A folder of mail for benchmarks: the sample's messages recombined, so that no two say the same.

Each round through the sample gives all Message-IDs an ending of its own, so its threads are threads again; plain
messages get paragraphs of others mixed in. The same seed gives the same files.
"""

import random
import re
from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[1] / "sample" / "mail"
_ID_FIELDS = re.compile(rb"(?im)^(?:message-id|in-reply-to|references):(?:.*(?:\r?\n[ \t].*)*)")
_DOMAIN = re.compile(rb"@([\w.-]+>)")
_PLAIN = re.compile(rb"(?i)^content-type:[ \t]*text/plain", re.MULTILINE)
_ENCODED = re.compile(rb"(?i)^content-transfer-encoding:[ \t]*(?:base64|quoted-printable)", re.MULTILINE)


def write_corpus(folder: Path, count: int, seed: int = 7) -> int:
    """Write *count* messages into *folder*, a file each; returns their bytes."""
    draw = random.Random(seed)
    originals = [path.read_bytes().replace(b"\r\n", b"\n") for path in sorted(SAMPLE.rglob("*.eml"))]
    plain = {number for number, raw in enumerate(originals) if _is_plain(raw)}
    paragraphs = sorted({one for number in plain for one in _body(originals[number]).split(b"\n\n") if len(one) > 40})
    written = 0
    for number in range(count):
        turn, place = divmod(number, len(originals))
        raw = _ID_FIELDS.sub(lambda match: _DOMAIN.sub(rb"@r%d.\1" % turn, match[0]), originals[place])  # noqa: B023
        if place in plain:
            raw = b"\n\n".join([raw.rstrip(b"\n"), *draw.sample(paragraphs, 3), b"Reference %d\n" % number])
        (folder / f"{number:06}.eml").write_bytes(raw)
        written += len(raw)
    return written


def _is_plain(raw: bytes) -> bool:
    head = raw.partition(b"\n\n")[0]
    return _PLAIN.search(head) is not None and _ENCODED.search(head) is None


def _body(raw: bytes) -> bytes:
    return raw.partition(b"\n\n")[2]
