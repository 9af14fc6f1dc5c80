"""Labels of charsets as mail writes them, and the codecs that may be used for them.

Only charsets from a list are allowed, because Python's registry also knows transfer encodings and name encodings
(`utf-7`, `idna`, `base64`) that a sender could use to smuggle text past a filter.
"""

import codecs
import re
from functools import lru_cache

_ALLOWED = {
    *(f"iso8859-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
    *(
        f"cp{n}"
        for n in (437, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 866, 869, 874, 932, 949, 950)
    ),
    *(f"cp{n}" for n in range(1250, 1259)),
    *("ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    *("koi8-r", "koi8-u", "koi8-t", "kz1048", "ptcp154", "tis-620", "mac-roman", "mac-cyrillic", "mac-latin2"),
    *("mac-greek", "mac-turkish", "mac-iceland", "cp1125", "hp-roman8"),
    *("gb2312", "gbk", "gb18030", "hz", "big5", "big5hkscs", "euc_kr", "johab", "shift_jis", "shift_jis_2004"),
    *("euc_jp", "euc_jis_2004", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_3", "iso2022_jp_ext"),
    *("iso2022_kr",),
}

# Labels that mail uses for a larger set than the label's own, or that Python does not know.
_ALIASES = {
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "cp936", "ms936", "gb_2312-80", "gb-2312", "gb2312-80"), "gb18030"),
    **dict.fromkeys(("gb-18030", "gb_2312", "gb-k", "chinese", "chinesegb", "euc-cn", "euccn", "x-euc-cn"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "cswindows31j", "ms932"), "cp932"),
    **dict.fromkeys(("sjis-win", "ms_kanji", "x-ms-cp932", "shiftjis", "shift_jisx0213"), "cp932"),
    **dict.fromkeys(
        ("euc-kr", "ks_c_5601-1987", "ks_c_5601", "ksc5601", "ksc_5601", "korean", "uhc", "euckr"), "cp949"
    ),
    **dict.fromkeys(("ks_c_5601-1989", "windows-949", "x-windows-949", "ms949", "iso-ir-149"), "cp949"),
    **dict.fromkeys(("big5", "x-x-big5", "chinesebig5", "big-5", "x-big5", "cn-big5", "csbig5", "ms950"), "big5hkscs"),
    **dict.fromkeys(("x-euc-jp", "x-euc", "eucjp-ms", "eucjp-win", "eucjp", "euc_jp", "cseucpkdfmtjapanese"), "euc_jp"),
    **dict.fromkeys(("x-mac-roman", "macintosh", "x-macintosh", "macroman", "csmacintosh"), "mac-roman"),
    **dict.fromkeys(("x-mac-ce", "x-mac-centraleurroman", "maccentraleurope"), "mac-latin2"),
    **dict.fromkeys(("x-mac-cyrillic", "x-mac-ukrainian", "maccyrillic"), "mac-cyrillic"),
    **dict.fromkeys(("utf8mb4", "unicode-1-1-utf-8", "x-unicode20utf8", "utf-8-sig", "utf_8_sig"), "utf-8"),
    **dict.fromkeys(("unicode", "ucs-2", "ucs2", "iso-10646-ucs-2", "csunicode"), "utf-16"),
    **dict.fromkeys(("x-user-defined", "ansi", "x-ansi", "western", "latin"), "cp1252"),
    **dict.fromkeys(("koi8", "koi", "koi-8", "koi-8-r", "cskoi8r", "koi8_r"), "koi8-r"),
    **dict.fromkeys(("koi8-ru", "koi8_u"), "koi8-u"),
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "iso-8859-6-e": "iso8859-6",
    "visual": "iso8859-8",
    "logical": "iso8859-8",
    "dos-862": "cp862",
    "dos-720": "cp1256",
    "dos-874": "cp874",
    "tis-620": "cp874",
    "tis620": "cp874",
}
# What stands around the number of a code page, or behind a name that would do by itself.
_CODE_PAGE = re.compile(r"(?:x-?)?(?:cs)?(?:windows|win|ansi|cp|ibm|ms|dos|code-?page)?[-_ ]?([0-9]{3,5})(?![0-9])")
_ISO_8859 = re.compile(r"(?:x-|cs)?_?iso[-_ ]?8859[-_ ]?([0-9]{1,2})(?![0-9])")
_UTF_8 = re.compile(r"(?:x-|cs)?utf[-_ ]{0,2}8(?![0-9])")
_LATIN = re.compile(r"(?:iso-)?latin[-_ ]?([0-9]{1,2})$")
_LATIN_PARTS = {
    "1": "1",
    "2": "2",
    "3": "3",
    "4": "4",
    "5": "9",
    "6": "10",
    "7": "13",
    "8": "14",
    "9": "15",
    "10": "16",
}
_CODE_PAGES = {
    "65001": "utf-8",
    "936": "gb18030",
    "54936": "gb18030",
    "950": "big5hkscs",
    "20866": "koi8-r",
    "21866": "koi8-u",
    "20127": "ascii",
    "20932": "euc_jp",
    "51932": "euc_jp",
    "51949": "cp949",
    "51936": "gb18030",
    "50220": "iso2022_jp",
    "50221": "iso2022_jp",
    "50222": "iso2022_jp",
    "50225": "iso2022_kr",
    "52936": "hz",
    "10000": "mac-roman",
    "10007": "mac-cyrillic",
    "10029": "mac-latin2",
    "1200": "utf-16-le",
    "1201": "utf-16-be",
    "12000": "utf-32-le",
    "12001": "utf-32-be",
    "38598": "iso8859-8",
    **{str(28590 + part): f"iso8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15)},
}


@lru_cache(500)
def lookup(label: str) -> str:
    """The codec for a charset label, or "" where the label is unknown or not allowed."""
    name = label.strip().strip("\"' ;,").lower()
    if not name or len(name) > 100:
        return ""
    found = _allowed(name)
    if not found:
        name = re.split(r"[\s;,(\"']", name, maxsplit=1)[0]
        found = _allowed(name) or _allowed(_repaired(name))
    return found


def code_page(number: int) -> str:
    """The codec for the *number* of a code page of Windows, or "" where it is unknown or not allowed."""
    return _allowed(_CODE_PAGES.get(str(number), f"cp{number}"))


def _repaired(name: str) -> str:
    """A label written in one of the ways that mean well."""
    if _UTF_8.match(name):
        return "utf-8"
    part = _ISO_8859.match(name)
    if part:
        return _ALIASES.get(f"iso-8859-{part[1]}", f"iso8859-{part[1]}")
    latin = _LATIN.match(name)
    if latin:
        return f"iso8859-{_LATIN_PARTS.get(latin[1], '')}"
    page = _CODE_PAGE.fullmatch(name)
    return _CODE_PAGES.get(page[1], f"cp{page[1]}") if page else ""


def _allowed(name: str) -> str:
    name = _ALIASES.get(name, name)
    if not name or len(name) > 40:
        return ""
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    codec = _ALIASES.get(codec, codec)
    return codec if codec in _ALLOWED or codec.replace("_", "-") in _ALLOWED else ""
