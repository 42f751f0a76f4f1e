#!/usr/bin/env python
"""Django's command line. `migrate` alone works under the migrations account; all other commands under the web's."""

from __future__ import annotations

import os
import sys

COMMANDS_THAT_CHANGE_TABLES = {"migrate"}


def main() -> None:
    changes_tables = len(sys.argv) > 1 and sys.argv[1] in COMMANDS_THAT_CHANGE_TABLES
    if changes_tables:
        os.environ["DJANGO_SETTINGS_MODULE"] = "tasksys_site.migration_settings"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksys_site.settings")

    from tasksys_site.configuration import ConfigurationError

    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        sys.exit(78)  # the configuration is wrong: do not start again


if __name__ == "__main__":
    main()
