"""Settings from the environment: read once, refused with one sentence when they make no sense."""

import base64
import ipaddress
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

PROJECT = Path(__file__).resolve().parent.parent.parent


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def number(name: str, default: int, *, low: int, high: int) -> int:
    """An integer between *low* and *high*. Raises ImproperlyConfigured."""
    value = text(name, str(default))
    if not value.lstrip("-").isascii() or not value.lstrip("-").isdigit() or not low <= int(value) <= high:
        raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
    return int(value)


def one_of(name: str, words: Sequence[str]) -> str:
    """One of *words*, in whatever case; the first is the default. Raises ImproperlyConfigured."""
    value = text(name) or words[0]
    found = next((word for word in words if word.casefold() == value.casefold()), None)
    if found is None:
        raise ImproperlyConfigured(f"{name} must be {', '.join(words[:-1])} or {words[-1]}, not {value!r}.")
    return found


def metrics_token() -> str:
    """PM_METRICS_TOKEN; empty where there is none. Raises ImproperlyConfigured where it can be guessed."""
    token = text("PM_METRICS_TOKEN")
    if token and len(token) < 16:
        raise ImproperlyConfigured("PM_METRICS_TOKEN must have at least 16 characters.")
    return token


def metrics_bind(token: str) -> tuple[str, int] | None:
    """PM_METRICS_BIND as address and port; None where there is none. Raises ImproperlyConfigured.

    Every address of the machine may be named only where a *token* guards it.
    """
    given = text("PM_METRICS_BIND")
    if not given:
        return None
    host, _, port = given.rpartition(":")
    host = host.strip("[]")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is None or not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
        raise ImproperlyConfigured(f"PM_METRICS_BIND must be address:port, such as 127.0.0.1:9101, not {given!r}.")
    if address.is_unspecified and not token:
        raise ImproperlyConfigured("PM_METRICS_BIND must name one address where PM_METRICS_TOKEN is not set.")
    return host, int(port)


def flag(name: str, *, default: bool = False) -> bool:
    """True for 1/true/yes/on, False for 0/false/no/off. Raises ImproperlyConfigured."""
    value = text(name, "1" if default else "0").lower()
    if value not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")
    return value in {"1", "true", "yes", "on"}


def data_folder() -> Path:
    """Where the embedded database and the generated secrets live."""
    return Path(text("PM_DATA", str(PROJECT / "var"))).expanduser().resolve()


def secret_key(*, embedded: bool) -> str:
    """PM_SECRET_KEY; on embedded defaults one that is made at first start and kept in the data folder.

    Raises ImproperlyConfigured where a database of one's own is named and the key is missing or short.
    """
    given = text("PM_SECRET_KEY")
    if given and len(given) < 32:
        raise ImproperlyConfigured("PM_SECRET_KEY must have at least 32 characters.")
    if given:
        return given
    if not embedded:
        raise ImproperlyConfigured("PM_SECRET_KEY must be set where PM_DATABASE_URL is.")
    return _kept("secret-key", secrets.token_urlsafe(48))


def audit_key(*, embedded: bool) -> str:
    """PM_AUDIT_KEY, an Ed25519 key: 32 bytes in base64; on embedded defaults one that is made at first start and kept.

    Raises ImproperlyConfigured where a database of one's own is named and the key is missing, or where it is no key.
    """
    given = text("PM_AUDIT_KEY")
    if given:
        return _key("PM_AUDIT_KEY", given)
    if not embedded:
        raise ImproperlyConfigured(
            "PM_AUDIT_KEY must be set where PM_DATABASE_URL is: 32 random bytes in base64, such as"
            " `openssl rand -base64 32` prints. It signs the audit; keep it where the database's administrators can't"
            " read it."
        )
    return _key("PM_AUDIT_KEY", _kept("audit-key", base64.b64encode(secrets.token_bytes(32)).decode()))


def former_keys() -> list[str]:
    """PM_AUDIT_FORMER_KEYS: public keys that signed before, split at commas. Raises ImproperlyConfigured."""
    given = (key.strip() for key in text("PM_AUDIT_FORMER_KEYS").split(","))
    return [_key("PM_AUDIT_FORMER_KEYS", key) for key in given if key]


def _key(name: str, given: str) -> str:
    try:
        whole = len(base64.b64decode(given, validate=True)) == 32
    except ValueError:
        whole = False
    if not whole:
        raise ImproperlyConfigured(f"{name} must be 32 bytes in base64.")
    return given


def _kept(name: str, fresh: str) -> str:
    """What the file *name* of the data folder holds; *fresh* where it is not there yet, which is then kept in it."""
    path = data_folder() / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f"{name}.{os.getpid()}")
        made.touch(mode=0o600)
        made.write_text(fresh)
        # Whoever links first has made it; the others read it.
        try:
            path.hardlink_to(made)
        except FileExistsError:
            pass
        finally:
            made.unlink()
    return path.read_text().strip()


def allowed_hosts(*, embedded: bool) -> list[str]:
    """PM_ALLOWED_HOSTS, split at commas. Open hosts are refused. Raises ImproperlyConfigured."""
    hosts = [host.strip() for host in text("PM_ALLOWED_HOSTS").split(",") if host.strip()]
    if "*" in hosts:
        raise ImproperlyConfigured("PM_ALLOWED_HOSTS must name the hosts; '*' would serve any.")
    if not hosts and not embedded:
        raise ImproperlyConfigured("PM_ALLOWED_HOSTS must name the hosts that this server answers for.")
    return hosts or ["localhost", "127.0.0.1", "[::1]"]
