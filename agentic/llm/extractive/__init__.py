"""The built-in extractive reader: serves where no model is configured, by quoting sentences of the mail it finds."""

from agentic.llm.extractive.reader import NAME, ExtractiveReader

__all__ = ["NAME", "ExtractiveReader"]
