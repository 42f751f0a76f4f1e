"""What the web server calls: `granian --interface wsgi tasksys_site.wsgi:application`.

The API goes past Django's handler, see apps.tasks.api.short_way; pages go through it.
"""

from __future__ import annotations

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksys_site.settings")

_pages = get_wsgi_application()

from apps.tasks.api.short_way import ShortWay  # noqa: E402  # Django must be set up before

application = ShortWay(_pages)

# A request leaves hardly any cycles behind, but makes enough objects to have Python look for some with every second one: a tenth of a hot
# read. What is loaded by now stays for good, and need not be looked at again.
gc.freeze()
gc.set_threshold(20_000, 20, 20)
