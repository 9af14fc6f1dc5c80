#!/usr/bin/env python
"""The project's command line."""

import os
import sys

# Commands that need no database, or that bring it up themselves.
_WITHOUT_DATABASE = {"help", "version", "--help", "--version", "collectstatic", "setup_database", "spectacular"}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    from django.core.management import execute_from_command_line

    if len(sys.argv) > 1 and sys.argv[1] not in _WITHOUT_DATABASE:
        import django

        from agentic.server.start import start_database

        django.setup()
        start_database()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
