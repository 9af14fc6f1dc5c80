"""Which host an address leads to, and which hosts a text names: whether a link says where it goes."""

import re
from urllib.parse import unquote

_LONGEST_TEXT = 500
_LONGEST_HOST = 255
_SCHEME = re.compile(r"https?:", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:\bhttps?:[/\\]{1,2}|\bwww\.)[^\s<>\"'()]+", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]{1,64}@((?:[\w-]{1,63}\.){1,8}[\w-]{2,63})")
_BARE = re.compile(r"(?:[\w-]{1,63}\.){1,8}([^\W\d_]{2,24})\.?(?::\d{1,5})?(?:[/?#]\S*)?")
# Endings of file names: what is written like these names a file rather than a host.
_FILES = frozenset(
    re.findall(
        r"\w+",
        "bmp bz css csv doc docm docx eml exe gif gz heic htm html ics jpeg jpg js json log md mov mp mpeg msg odp ods"
        " odt pdf php png pps ppsx ppt pptx ps py rar rtf sh svg tar tex tif tiff ts txt vcf wav webp xls xlsm xlsx xml"
        " yaml yml zip",
    )
)


def host_of(target: str) -> str:
    """The host that an http, https or mailto *target* leads to: lower case, ASCII, without `www.`; or ""."""
    scheme, _, rest = target.partition(":")
    if scheme.lower() == "mailto":
        address = unquote(rest.partition("?")[0]).partition(",")[0]
        return _plain(address.rpartition("@")[2]) if "@" in address else ""
    authority = re.split(r"[/\\?#]", rest.lstrip("/\\"), maxsplit=1)[0].rpartition("@")[2]
    return _plain(re.sub(r":\d*$", "", authority))


def hosts_named(text: str) -> tuple[str, ...]:
    """The hosts of the addresses in *text*. One without `http` or `www` counts where it is all that the text says."""
    text = text[:_LONGEST_TEXT].strip()
    if "." not in text:
        return ()
    found = [match[0] for match in _ADDRESS.finditer(text)]
    named = [host_of(one if _SCHEME.match(one) else f"http://{one}") for one in found]
    named += [_plain(match[1]) for match in _MAIL.finditer(_ADDRESS.sub(" ", text))]
    bare = None if named else _BARE.fullmatch(text)
    if bare is not None and bare[1].casefold() not in _FILES:
        named.append(host_of(f"http://{text}"))
    return tuple(filter(None, named))


def leads_elsewhere(text: str, target: str) -> bool:
    """Whether *text* names a host, and *target* leads to another one. A host and one below it are of one owner."""
    host = host_of(target)
    return bool(host) and any(not _related(named, host) for named in hosts_named(text))


def _related(one: str, other: str) -> bool:
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _plain(host: str) -> str:
    """*host* as names are compared."""
    host = unquote(host.strip()[:_LONGEST_HOST]).strip(".,;:!").casefold()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            # No name that anything resolves: compared as it is written.
            return host
    return host.removeprefix("www.")
