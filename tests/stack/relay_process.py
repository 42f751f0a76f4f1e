"""`python -m tests.stack.relay_process`: a points relay alone, until it is ended. Celery does the same, and takes seconds to start."""

from __future__ import annotations

import os
import time


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tasksys_site.settings"
    import django

    django.setup()
    from django.conf import settings

    from apps.tasks.points.relay import Relay

    relay = Relay(settings.CONFIGURATION.points)
    while True:
        if relay.drain() is None:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
