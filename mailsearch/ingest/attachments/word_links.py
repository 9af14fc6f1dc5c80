"""Links of a Word document: elements that name a relation, and fields whose code names an address."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from lxml import etree

from mailsearch.ingest import links
from mailsearch.ingest.attachments.packages import attribute, local

# Elements that make a link of what is in them.
AROUND = frozenset(("hyperlink", "fldSimple"))
_CODE = re.compile(r"\s*HYPERLINK\b(.*)", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r'\\([a-zA-Z])|"([^"]*)"|([^\s"\\][^\s"]*)')
# Switches that are followed by a word of their own.
_WORDY = frozenset("lotLOT")


@dataclass(slots=True)
class _Field:
    code: list[str] = field(default_factory=list)
    entered: bool = False


@dataclass(slots=True)
class WordLinks:
    """Tells `found` of the links that a walk over one part of the document meets. *targets* are its relations."""

    found: links.Links
    targets: Mapping[str, str] = field(default_factory=dict)
    _fields: list[_Field] = field(default_factory=list)

    def meet(self, element: etree._Element | None, at: int, *, shows: bool) -> None:
        """*element* stands at place *at* of the inline text; None: the innermost one of `AROUND` ends there."""
        name = "" if element is None else local(element)
        if element is None:
            self.found.leave(at)
        elif name == "hyperlink":
            self.found.enter(self._of_relation(element), at, shows=shows)
        elif name == "fldSimple":
            self.found.enter(_of_code(attribute(element, "instr")), at, shows=shows)
        elif name == "hlinkClick":
            # Of an image.
            self.found.enter(self._of_relation(element), at, shows=shows)
            self.found.picture()
            self.found.leave(at)
        elif name == "instrText":
            if self._fields:
                self._fields[-1].code.append(element.text or "")
        else:
            self._field(attribute(element, "fldCharType"), at, shows=shows)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Meanwhile the walk is over other paragraphs than the one that it was in."""
        marks, self.found.marks = self.found.marks, []
        yield
        self.found.marks = [*marks, *self.found.marks]

    def _of_relation(self, element: etree._Element) -> str:
        target = self.targets.get(attribute(element, "id"), "")
        place = attribute(element, "anchor")
        return f"{target}#{place}" if target and place else target

    def _field(self, kind: str, at: int, *, shows: bool) -> None:
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields and not self._fields[-1].entered:
            self._fields[-1].entered = True
            self.found.enter(_of_code("".join(self._fields[-1].code)), at, shows=shows)
        elif kind == "end" and self._fields and self._fields.pop().entered:
            self.found.leave(at)


def _of_code(code: str) -> str:
    """The address in the code of a field; "" where it is none that leads anywhere."""
    match = _CODE.match(code[: 2 * links.LONGEST_TARGET])
    passes = False
    for switch, quoted, bare in _WORD.findall(match[1]) if match else ():
        if switch:
            passes = switch in _WORDY
        elif passes:
            passes = False
        else:
            return str(quoted or bare)
    return ""
