"""The service with room for as many runs at once as a benchmark has clients; how many may is not what is measured."""

from agentic.server.asgi import application


def _make_room() -> None:
    # Models can be loaded only once the application is.
    from agentic import admission

    admission.TENANT_RUNS = admission.CALLER_RUNS = 10_000


_make_room()

__all__ = ["application"]
