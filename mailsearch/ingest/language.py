"""The language that a text is written in, out of those that search can do something with.

Most texts say it by their small words: a few of those that only one language has, and none of another's, settle it at
a hundredth of the cost of a model. The model is asked, and loaded, for the rest. The fewer languages there are to
choose from, the fewer short texts are taken for one that is much like their own: of all that the model knows, "Thanks,
see you tomorrow" is Nigerian Pidgin.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mailsearch.ingest import language_model

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Those with a dictionary in Postgres, then others that much mail is written in. `zxx` is no language: logs and codes.
_LANGUAGES = [
    "ar", "ca", "da", "de", "el", "en", "es", "eu", "fi", "fr", "ga", "hi", "hu", "hy", "id", "it", "lt", "ne", "nl",
    "nn", "no", "pt", "ro", "ru", "sr", "sv", "ta", "tr",
    "bg", "bn", "cs", "et", "fa", "he", "hr", "is", "ja", "ka", "ko", "lv", "mk", "pl", "sk", "sl", "sq", "th", "uk",
    "ur", "vi", "zh", "zxx",
]  # fmt: skip
# Small words that among these languages only one writes so. Scandinavian and Slavic languages share nearly all of
# theirs with a neighbour, so they are left to the model.
_SMALL_WORDS = {
    word: code
    for code, words in {
        "en": "the and you that this have with your from which they would been there their what please our has were "
        "about could should these those when where because only any its also than then them him she who how not be "
        "can but it it's i'm don't into more some other just know using may out most such very here does did had his "
        "whether through while since after before",
        "de": "und nicht ist ich wir sie auf für eine einen einem einer auch dass sich wird werden haben noch bei nach "
        "aus aber sind zum zur beim über wenn oder ihre ihr diese dieser wie kann das dem des ein mich uns keine",
        "fr": "vous nous dans avec pas cette est sont être votre notre avez avons aux ces où très sur qui été c'est "
        "d'un d'une qu'il je leur ils elle cet peut fait bien ainsi",
        "es": "los las pero están más también hay ha hemos este estos usted nuestro nuestra cuando donde según desde "
        "hasta muy porque puede",
        "it": "che della delle degli gli nel nella sono anche questo questa più dalla abbiamo siamo vostra vostro "
        "nostra nostro perché quanto stato",
        "pt": "não uma você são também às ao aos pelo pela muito nós nossa nosso isso isto já até foi seu sua",
        "nl": "het een niet zijn wordt ik wij ook maar voor naar deze hebben heeft wel uit kunnen dat graag onze mijn "
        "worden zou zoals",
    }.items()
    for word in words.split()
}  # fmt: skip
# So many of them, at least so many different ones, this share of all words, and so many for each one of another's.
_FEWEST, _FEWEST_DIFFERENT, _SHARE, _FOR_EACH_OTHER = 3, 3, 0.06, 6
_NONE = "zxx"
_SHORTEST = 24
_SAMPLE = 300
_OTHER_SCRIPT = re.compile("[\u0370-\u1fff\u3040-\ua95f\uac00-\ufaff]")
# Quoted lines, figures and rules say little about the writer's language.
_QUOTED = re.compile(r"(?m)^>.*$")
_NOISE = str.maketrans(dict.fromkeys("0123456789_=*#|<>-", " "))
# Where the model may be laid out.
_folder: Path | None = None


def detect(text: str) -> str:
    """ISO 639-1 code of *text*'s language, or "" where it is too short to tell."""
    # The beginning has enough of most texts.
    sample = _said(text[: 2 * _SAMPLE], whole=False)
    if len(sample) < _SAMPLE:
        sample = _said(text[: 4 * _SAMPLE])
    if len(sample) < (_SHORTEST if sample.isascii() else _SHORTEST // 3):
        return ""
    code = "" if not sample.isascii() and _OTHER_SCRIPT.search(sample) else _by_small_words(sample.lower().split())
    if not code:
        code = str(_identifier().classify(sample)[0])
    return "" if code == _NONE else code


def _said(text: str, *, whole: bool = True) -> str:
    """The words of *text* that tell a language, as many as are looked at. The last one counts if it is *whole*."""
    words = (_QUOTED.sub(" ", text) if ">" in text else text).translate(_NOISE).split()
    # Addresses and links neither.
    told = [word for word in (words if whole else words[:-1]) if "@" not in word and "//" not in word]
    return " ".join(told)[:_SAMPLE]


def _by_small_words(words: list[str]) -> str:
    """The language whose small words *words* hold, or "" where they are too few or another's are among them."""
    known = [word for word in words if word in _SMALL_WORDS]
    if len(known) < _FEWEST or len(known) < _SHARE * len(words):
        return ""
    counts: dict[str, int] = {}
    for word in known:
        counts[_SMALL_WORDS[word]] = counts.get(_SMALL_WORDS[word], 0) + 1
    code = max(counts, key=counts.__getitem__)
    count = counts[code]
    others = len(known) - count
    return code if count >= _FOR_EACH_OTHER * others and len(set(known)) - others >= _FEWEST_DIFFERENT else ""


def lay_out_model(folder: Path) -> None:
    """Have `use_model` find the model in *folder*. Raises OSError where it can't be written."""
    language_model.lay_out(_LANGUAGES, folder)


def use_model(folder: Path) -> None:
    """From here on in this process, take the model from *folder* where it is laid out there."""
    global _folder
    _folder = folder


@cache
def _identifier() -> "LanguageIdentifier":
    # Most texts never come here.
    return language_model.identifier(_LANGUAGES, _folder)
