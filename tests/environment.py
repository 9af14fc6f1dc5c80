"""The environment of the tests, set before Django reads its settings (pyproject.toml loads this with `-p`)."""

import os
import tempfile
from pathlib import Path

for _name in [name for name in os.environ if name.startswith("PM_") and name != "PM_TEST_DATA"]:
    del os.environ[_name]
_data = os.environ.get("PM_TEST_DATA") or str(Path(tempfile.gettempdir()) / f"mailsearch-test-{os.getuid()}")
# Each process of a divided suite has a server of its own: roles belong to a server, and two that make them at once
# would be in each other's way.
os.environ["PM_DATA"] = "-".join(filter(None, (_data, os.environ.get("PYTEST_XDIST_WORKER"))))
# A database of each session's own, so that several sessions can share one server.
os.environ["PM_DATABASE_NAME"] = f"test_{os.getpid()}"
os.environ["PM_SECRET_KEY"] = "only-for-tests-" * 4
# Nothing here speaks TLS to the world, and to load its certificates costs each HTTP client 30 ms. There are none here.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
