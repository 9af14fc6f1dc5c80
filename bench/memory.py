"""The memory that an import of one large mbox takes, attachments read: a gigabyte, or `BENCH_MEGABYTES`.

Made of the sample's messages, no two the same, every tenth with a photo beside it. Takes some minutes and twice as much
disk.
"""

import os
import random
import tempfile
from base64 import encodebytes
from collections.abc import Mapping
from pathlib import Path

from bench import _running
from bench._mail import write_corpus

MEGABYTES = int(os.environ.get("BENCH_MEGABYTES", "1000"))
_VARIED = 2_000
_FILE = 400_000
_WITH_FILE = b"""Content-Type: multipart/mixed; boundary="=_apart"

--=_apart
Content-Type: text/plain; charset=utf-8

%s

--=_apart
Content-Type: image/jpeg
Content-Disposition: attachment; filename="photo-%d.jpg"
Content-Transfer-Encoding: base64

%s
--=_apart--
"""


def run(megabytes: int = MEGABYTES, seed: int = 5) -> Mapping[str, object]:
    """`peak_megabytes`: the most that the importer and its child held."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "varied").mkdir()
        (folder / "mail").mkdir()
        write_corpus(folder / "varied", _VARIED, seed)
        originals = [path.read_bytes() for path in sorted((folder / "varied").iterdir())]
        size = _write_mbox(folder / "mail" / "all.mbox", originals, megabytes * 1_000_000, random.Random(seed))
        figures = _running.finish(folder, "large", "--attachments")
    return {"bytes": size, **figures}


def _write_mbox(path: Path, originals: list[bytes], size: int, draw: random.Random) -> int:
    number = 0
    with path.open("wb") as mbox:
        while mbox.tell() < size:
            number += 1
            raw = originals[number % len(originals)]
            mbox.write(b"From bench@shop.example Mon Nov 02 10:00:00 2026\n")
            mbox.write(_with_file(number, draw) if number % 10 == 0 else b"X-Number: %d\n" % number + raw)
            mbox.write(b"\n\n")
        return mbox.tell()


def _with_file(number: int, draw: random.Random) -> bytes:
    """A message with a photo that no other has."""
    photo = b"\xff\xd8\xff\xe0" + draw.randbytes(draw.randrange(_FILE))
    head = b"From: Ann <ann@shop.example>\nTo: bench@shop.example\nMessage-ID: <%d@photos.example>\n" % number
    subject = b"Date: Mon, 02 Nov 2026 10:00:00 +0000\nSubject: Photo %d\nMIME-Version: 1.0\n" % number
    return head + subject + _WITH_FILE % (b"This is photo number %d." % number, number, encodebytes(photo))
