"""The settings under which `manage.py migrate` runs: the same, with the one account that may create and change tables."""

from __future__ import annotations

from tasksys_site.settings import *  # noqa: F403
from tasksys_site.settings import configuration, database

DATABASES = {
    "default": database(configuration.databases.configuration_schema, configuration.databases.accounts.migrations),
    "userdata": database(configuration.databases.user_schema, configuration.databases.accounts.migrations),
}
