"""Text of attachments, by what their bytes are rather than what they are called."""

from mailsearch.ingest.attachments.reading import read_text

__all__ = ["read_text"]
