"""Every setting of the environment, with its default and its meaning: docs/settings.md has its table from here.

`python -m agentic.server.catalogue` writes the table anew; a test fails where the table, or a setting that code
reads, is not in step with this list.
"""

from collections.abc import Mapping
from pathlib import Path

_DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "settings.md"
_HEAD = "| setting | default | meaning |\n| --- | --- | --- |\n"

# Name to default and meaning.
SETTINGS: Mapping[str, tuple[str, str]] = {
    "PM_DATA": (
        "`var/` in the project",
        "folder of the embedded database and of the generated secret key",
    ),
    "PM_DATABASE_URL": (
        "none: embedded Postgres",
        "connection string of a Postgres 15 or newer with pgvector 0.8 or newer, as the role `<database>_app`",
    ),
    "PM_DATABASE_NAME": (
        "`mailsearch`",
        "name of the embedded server's database",
    ),
    "PM_POOL_SIZE": (
        "10",
        "connections of each of the process's two pools, 1 to 100",
    ),
    "PM_RATE_CALLER": (
        "10",
        "requests a second of one key or person, with twice as many at once; soft, in each process",
    ),
    "PM_RATE_TENANT": (
        "50",
        "requests a second of one tenant, with twice as many at once; soft, in each process",
    ),
    "PM_STREAM_SECONDS": (
        "15",
        "seconds after which a stream looks at its reader's key again and sends a heartbeat, 1 to 15",
    ),
    "PM_SECRET_KEY": (
        "made at first start where the database is embedded",
        "at least 32 characters; must be set beside `PM_DATABASE_URL`",
    ),
    "PM_AUDIT_KEY": (
        "made at first start where the database is embedded",
        "Ed25519 private key that signs the audit, 32 bytes in base64; must be set beside `PM_DATABASE_URL` "
        "(docs/audit.md)",
    ),
    "PM_AUDIT_FORMER_KEYS": (
        "none",
        "public keys that signed before, separated by commas",
    ),
    "PM_ERASER_DATABASE_URL": (
        "none",
        "connection string of the role `<database>_eraser`, for `erase_message`, `retain` and `legal_hold` "
        "beside `PM_DATABASE_URL`",
    ),
    "PM_ADMIN_DATABASE_URL": (
        "none",
        "connection string of a login that may create roles and databases, for `setup_database` beside "
        "`PM_DATABASE_URL`; no other process needs it",
    ),
    "PM_ALLOWED_HOSTS": (
        "loopback names where the database is embedded",
        "host names that the server answers for, split by commas; `*` is refused",
    ),
    "PM_HTTPS": (
        "0 embedded, else 1",
        "cookies over TLS alone, redirect to it, and strict transport security",
    ),
    "PM_DEBUG": (
        "0",
        "Django's debug pages; refused beside `PM_DATABASE_URL`",
    ),
    "PM_STATIC_ROOT": (
        "none",
        "folder into which `collectstatic` collects; without it files are served from where they lie",
    ),
    "PM_LOG_LEVEL": (
        "`WARNING`",
        "level of the log on standard error; no level logs mail text",
    ),
    "PM_LOG_FORMAT": (
        "`text`",
        "`text` or `json`: one object a line, with `time`, `level`, `logger`, `event`, and where known `run` "
        "and `errors`",
    ),
    "PM_METRICS_TOKEN": (
        "none",
        "at least 16 characters; who sends it as a bearer token may read `/metrics`. Without it and "
        "`PM_METRICS_BIND` nobody may",
    ),
    "PM_METRICS_BIND": (
        "none",
        "`address:port` at which `/metrics` alone is served over plain HTTP, by one of the workers; without a"
        " token it must be one address",
    ),
    "PROMETHEUS_MULTIPROC_DIR": (
        "none",
        "folder, emptied before each start, in which several workers put their figures together; needed for "
        "`/metrics` where there is more than one",
    ),
    "PM_AGENT_MODEL": (
        "`@cf/qwen/qwen3.8-27b` with an account, else the built-in reader",
        "the model that plans and drafts",
    ),
    "PM_AGENT_FALLBACK_MODEL": (
        "none",
        "asked once more before a run ends as `degraded`",
    ),
    "PM_CLOUDFLARE_ACCOUNT_ID": (
        "none",
        "Workers AI account",
    ),
    "PM_AGENT_API_TOKEN": (
        "none",
        "token of Workers AI or of the other server",
    ),
    "PM_AGENT_BASE_URL": (
        "none",
        "base address of another OpenAI-compatible server, up to and with `/v1`",
    ),
    "PM_AGENT_RESULT_CHARACTERS": (
        "12000",
        "characters of mail that one search shows to the model, 2000 to 100000; less suits a model with a small window",
    ),
    "PM_EMBEDDING_MODEL": (
        "built-in multilingual encoder",
        "model that embeds passages and queries",
    ),
    "PM_EMBEDDING_BASE_URL": (
        "none",
        "where a remote embedding model is served",
    ),
    "PM_EMBEDDING_API_TOKEN": (
        "none",
        "token of that server",
    ),
}


def table() -> str:
    """All settings as a Markdown table."""
    rows = (f"| `{name}` | {default} | {meaning} |\n" for name, (default, meaning) in SETTINGS.items())
    return _HEAD + "".join(rows)


def written_anew(document: str) -> str:
    """*document* with its table as it is now. Raises ValueError where it has none."""
    before, found, after = document.partition(_HEAD)
    if not found:
        raise ValueError("docs/settings.md has lost the head of its table")
    lines = after.splitlines(keepends=True)
    rest = next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return before + table() + "".join(lines[rest:])


if __name__ == "__main__":
    _DOCUMENT.write_text(written_anew(_DOCUMENT.read_text()))
