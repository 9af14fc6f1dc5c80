"""The prompts as files with names, read once."""

from functools import cache
from importlib.resources import files
from typing import Literal

Name = Literal["system", "plan", "judge", "answer", "repair", "reread", "suffices"]


@cache
def load(name: Name) -> str:
    """The text of one prompt, without the line break at its end."""
    return (files(__name__) / f"{name}.md").read_text("utf-8").rstrip("\n")
