"""Where Django looks for a backend's DatabaseWrapper; the name is its choice."""

from agentic.server.database.lending import DatabaseWrapper

__all__ = ["DatabaseWrapper"]
