"""Where mail comes from: each kind of source is read as a stream of raw messages.

`open_source` looks at a path and knows what it is: a single message, an mbox, a Maildir, or a folder tree of any of
these.
"""

from mailsearch.ingest.sources.opening import NotASource, open_source
from mailsearch.ingest.sources.raw import RawMail, Source

__all__ = ["NotASource", "RawMail", "Source", "open_source"]
