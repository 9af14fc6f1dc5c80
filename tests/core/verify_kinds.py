"""Words and signs that exclude each other, from which the mutations draw: months, days, counts, units, look-alikes."""

from collections.abc import Callable

Change = Callable[[str], str]


def _lines(text: str) -> tuple[list[str], ...]:
    return tuple(line.split() for line in text.splitlines() if line.strip())


_MONTHS = dict(
    zip(
        ("en", "de", "fr"),
        _lines("""
    January February March April May June July August September October November December
    Januar Februar März April Mai Juni Juli August September Oktober November Dezember
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    """),
        strict=True,
    )
)
WEEKDAYS = _lines("""
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday
    Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag
    lundi mardi mercredi jeudi vendredi samedi dimanche
    """)
# From two on.
COUNTS = _lines("""
    two three four five six seven eight nine ten eleven twelve
    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
    deux trois quatre cinq six sept huit neuf dix onze douze
    """)
UNITS = (
    *_lines("""
    EUR USD GBP CHF
    € $ £
    km mm
    mm cm kg
    minutes hours days weeks months years
    Minuten Stunden Tage Wochen Monate
    minutes heures jours semaines mois
    percent euros
    """),
    ["%", " EUR"],
    ["per cent", "euros"],
)
HOMOGLYPHS = {
    "a": "\u0430\u0251", "c": "\u0441\u03f2", "e": "\u0435", "i": "\u0456\u0131", "o": "\u043e\u03bf\u0585",
    "p": "\u0440\u03c1", "s": "\u0455", "u": "\u057d", "x": "\u0445", "y": "\u0443", "0": "O", "1": "l",
    "A": "\u0410\u0391", "B": "\u0412\u0392", "E": "\u0415\u0395", "T": "\u0422\u03a4", "W": "\u051c",
}  # fmt: skip
FALSE_LABELS: tuple[Change, ...] = (
    str.upper,
    str.title,
    lambda label: label.replace("a", "\u0430"),
    lambda label: label.replace("7", "\uff17"),
    lambda label: label.replace("7", "\u0667"),
    lambda label: label.replace("q", "9"),
    lambda label: label + "x",
    lambda label: label[:-1],
    lambda label: label[:2] + "\u200b" + label[2:],
    lambda label: label[:2] + "\u00ad" + label[2:],
    lambda label: f"{label}-{label}",
    lambda label: f"{label}:1",
    lambda label: f"{label}, none0",
)
FALSE_BRACKETS = (
    "({})", "\u3010{}\u3011", "\uff3b{}\uff3d", "[[{}]]", "{{{}}}", "[ {} ]", "[{}](x)", "\\[{}\\]", "<{}>",
)  # fmt: skip
ACTIVE = (
    "[here](https://evil.example/x)", "![p](https://evil.example/p.png)", "![p][1]", "<img src=x onerror=y>",
    "<b>now</b>", "<a href='https://evil.example'>now</a>", "<script>x()</script>", "<!-- now -->", "javascript:x()",
    "data:text/html;base64,PHA+", "mailto:pay@evil.example", "https://evil.example/x", "//evil.example/x",
    "<https://evil.example/x>", "<pay@evil.example>", "hxxps://evil.example/x", "[x]: https://evil.example",
    "[now][1]", "&lt;img src=x&gt;", "vbscript:x", "file:///etc/hosts", "tel:0049301234567", "www.evil.example",
    "evil.example/x",
)  # fmt: skip


def months(language: str) -> list[str]:
    """The names of the months, those of English where the language is another."""
    return _MONTHS.get(language, _MONTHS["en"])
