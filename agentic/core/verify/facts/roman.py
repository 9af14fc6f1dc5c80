"""Roman numerals up to thirty-nine, as chapters, phases and kings bear them."""

import re
from collections.abc import Iterator
from decimal import Decimal

from agentic.core.verify.facts.values import Fact

_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_VALUES = {tens * "x" + ones: tens * 10 + value for tens in range(4) for value, ones in enumerate(_ONES)}
# Numerals only behind the name of what is numbered. One letter may be just that ("part V" after "part U").
_ALSO_WORDS = frozenset(["vi", "xi"])
NUMERALS = frozenset(numeral for numeral in _VALUES if len(numeral) > 1)
_LEADS = (
    "chapter chap part annex appendix phase volume vol section title class type level stage book act table article art "
    "schedule exhibit lot world\\swar kapitel teil anhang anlage band stufe abschnitt klasse tabelle artikel weltkrieg "
    "chapitre partie annexe tome titre classe livre capítulo parte anexo fase tomo cláusula capitolo allegato "
    "hoofdstuk deel bijlage rozdział część załącznik tom faza etap"
)
_NUMERAL = re.compile(
    rf"(?<![^\W_])(?:(?P<lead>{'|'.join(_LEADS.split())})\.? )?(?<![\w'.@/-])(?P<numeral>[ivx]{{2,7}})(?![\w'@/-]|\.\w)"
)


def numerals(text: str, words: frozenset[str]) -> Iterator[Fact]:
    """The numerals of *text*; *words* are all of its words."""
    near = NUMERALS & words
    if near <= _ALSO_WORDS and not _LEADING & words:
        return
    for match in _NUMERAL.finditer(text):
        numeral = match["numeral"]
        value = _VALUES.get(numeral)
        sure = numeral not in _ALSO_WORDS or match["lead"]
        if value and sure:
            yield Fact("number", Decimal(value).normalize(), numeral, *match.span("numeral"), worded=True)


_LEADING = frozenset(word for lead in _LEADS.split() for word in lead.split("\\s"))
