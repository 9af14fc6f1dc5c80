"""The model that tells languages apart: unpacked from its library, or laid out in a folder to be used as it lies.

To unpack it takes as long as to read a thousand messages, and each importer has to. So setting up a store lays it out
once, for the languages in question alone; whoever finds nothing laid out unpacks it. Both say the same.
"""

import io
import json
import lzma
import mmap
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Another layout takes another name.
_NAME = "language-model-1"
_STATES, _ROWS, _FEATURES, _WEIGHTS, _PRIORS, _CLASSES = "states", "rows", "features", "weights", "priors", "classes"


def identifier(languages: Sequence[str], folder: Path | None = None) -> "LanguageIdentifier":
    """The model for *languages* (ISO 639-1), from what `lay_out` left in *folder* if that is what the library has."""
    if folder is not None:
        # Anything may have become of it meanwhile; nothing depends on it.
        with suppress(OSError, ValueError):
            return _laid_out(_place(folder, languages))
    return _unpacked(languages)


def lay_out(languages: Sequence[str], folder: Path) -> None:
    """Lay the model for *languages* out in *folder*, unless it lies there. What lay there before it goes.

    Raises OSError where *folder* can't be written.
    """
    place = _place(folder, languages)
    if place.is_dir():
        return
    for old in folder.glob(f"{_NAME.rpartition('-')[0]}-*"):
        shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="language-") as name:
        making = Path(name) / "model"
        making.mkdir()
        model = _unpacked(languages)
        for part, data in (
            (_STATES, model.tk_nextmove.tobytes()),
            (_ROWS, model.tk_row.tobytes()),
            (_FEATURES, array("i", model.tk_output).tobytes()),
            (_WEIGHTS, model.nb_ptc.tobytes()),
            (_PRIORS, model.nb_pc.tobytes()),
            (_CLASSES, json.dumps(model.nb_classes).encode()),
        ):
            (making / part).write_bytes(data)
        # Another process may have been quicker; both made the same.
        with suppress(OSError):
            making.rename(place)


def _place(folder: Path, languages: Sequence[str]) -> Path:
    """Where in *folder* the model of this very installation lies."""
    from py3langid.langid import MODEL_FILE

    with as_file(files("py3langid").joinpath(MODEL_FILE)) as packed:
        found = packed.stat()
    told = f"{found.st_size} {found.st_mtime_ns} {' '.join(languages)}"
    return folder / f"{_NAME}-{zlib.crc32(told.encode()):08x}"


def _laid_out(place: Path) -> "LanguageIdentifier":
    # Whoever needs no model need not load these: they take longer than hundreds of messages to read.
    import numpy
    from py3langid.langid import LanguageIdentifier

    classes = json.loads((place / _CLASSES).read_bytes())
    # One word each: only what a text walks over is read from the disk.
    states = memoryview(_mapped(place / _STATES)).cast("I")
    weights = numpy.frombuffer(_mapped(place / _WEIGHTS), numpy.float16).reshape(-1, len(classes))
    rows, features = array("H"), array("i")
    rows.frombytes((place / _ROWS).read_bytes())
    features.frombytes((place / _FEATURES).read_bytes())
    priors = numpy.frombuffer((place / _PRIORS).read_bytes(), numpy.float32)
    if (len(rows), len(priors)) != (len(features), len(classes)):
        raise ValueError("What is laid out does not fit together.")
    return LanguageIdentifier(weights, priors, classes, states, features.tolist(), tk_row=rows)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _unpacked(languages: Sequence[str]) -> "LanguageIdentifier":
    """The model read without a file of its own: a process that may write none has to be able to load it."""
    import numpy
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    packed = files("py3langid").joinpath(MODEL_FILE).read_bytes()
    with numpy.load(io.BytesIO(lzma.decompress(packed)), allow_pickle=False) as data:
        moves, rows = (_as_array(data[name]) for name in ("nextmove", "nextmove_row"))
        found = LanguageIdentifier(
            data["ptc"], data["pc"], data["classes"].tolist(), moves, data["out_feat"].tolist(), tk_row=rows
        )
    found.set_languages(languages)
    return found


def _as_array(data: Any) -> "array[int]":
    return array(data.dtype.char, data.tobytes())
