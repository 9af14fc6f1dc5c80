"""What a run was made with: versions and hashes that its head keeps."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from types import MappingProxyType

from agentic.core import verify


@cache
def service() -> str:
    """The version of this service; `0` where it runs from a tree that was not installed."""
    try:
        return version("mailsearch")
    except PackageNotFoundError:
        return "0"


def verifier() -> str:
    """The version of the rules that decide which sentences stand."""
    return verify.VERSION


@cache
def prompts_sha256() -> Mapping[str, str]:
    """Name to SHA-256 (hex) of each prompt file, as they were when the process first looked."""
    folder = files("agentic.core.prompts")
    hashes = {
        entry.name.removesuffix(".md"): hashlib.sha256(entry.read_bytes()).hexdigest()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".md")
    }
    return MappingProxyType(hashes)
