"""The Celery side of publishing: beat asks every second whether a scheduled draft is due."""

from __future__ import annotations

import logging

from celery import shared_task
from django.db import DatabaseError

from apps.tasks.publishing import publish
from tasksys_site.celery import FIRE_DUE

log = logging.getLogger(__name__)


@shared_task(name=FIRE_DUE, ignore_result=True)
def fire_due() -> None:
    """What was due while nothing ran is published now: the moment stands in the draft, not in the broker."""
    try:
        for number in publish.fire_due():
            log.info("a scheduled draft was published", extra={"revision": number})
    except DatabaseError as error:
        log.warning("scheduled drafts cannot be looked at; the next look is in a second", extra={"error": error})
