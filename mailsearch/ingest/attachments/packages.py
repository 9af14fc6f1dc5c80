"""Zip containers with bounds: what a document unpacks to, and XML parts read without DTD, entities or network."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from types import TracebackType

from lxml import etree

# The most that one attachment may unpack to, in bytes.
MOST_UNPACKED = 100_000_000
_MOST_ENTRIES = 20_000
_CHUNK = 1 << 20


class TooLargeError(Exception):
    """The attachment unpacks to more than is allowed."""


class EncryptedError(Exception):
    """The attachment needs a password."""


class Package:
    """The parts of a zip container. Unpacking counts against one allowance for the whole container."""

    def __init__(self, content: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._left = MOST_UNPACKED
        infos = self._archive.infolist()
        if len(infos) > _MOST_ENTRIES:
            raise TooLargeError(f"{len(infos)} entries")
        self._infos = {info.filename: info for info in infos}

    def __enter__(self) -> "Package":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    @property
    def names(self) -> list[str]:
        """The names of all parts in the order of the container."""
        return list(self._infos)

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def read(self, name: str) -> bytes:
        """One part. Raises TooLargeError, EncryptedError, KeyError (there is none) and BadZipFile (it is broken)."""
        info = self._infos[name]
        if info.flag_bits & 1:
            raise EncryptedError(name)
        pieces: list[bytes] = []
        with self._archive.open(info) as part:
            while piece := part.read(_CHUNK):
                self._left -= len(piece)
                # The size in the directory is the sender's claim; what comes out is counted.
                if self._left < 0:
                    raise TooLargeError(name)
                pieces.append(piece)
        return b"".join(pieces)

    def tree(self, name: str) -> etree._Element | None:
        """One XML part, or None where the container has none of that name."""
        return parse_xml(self.read(name)) if name in self._infos else None


def relations(package: Package, part: str) -> Iterator[etree._Element]:
    """What *part* refers to, in the package and out of it."""
    folder, base = posixpath.split(part)
    root = package.tree(f"{folder}/_rels/{base}.rels")
    yield from root if root is not None else ()


def parse_xml(content: bytes) -> etree._Element:
    """The root of an XML document. Raises etree.XMLSyntaxError."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    return etree.fromstring(content, parser)


def local(element: etree._Element) -> str:
    """The element's name without its namespace."""
    # Entities, which stay unresolved, have a function for a tag.
    return str(element.tag).rpartition("}")[2]


def attribute(element: etree._Element, name: str) -> str:
    """The attribute called *name* in whatever namespace (the strict and the usual office formats differ in it)."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return ""
