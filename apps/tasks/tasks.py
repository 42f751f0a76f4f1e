"""The Celery side of publishing: beat asks every second whether a scheduled draft is due. And once a day, of logins that have ended."""

from __future__ import annotations

import logging

from celery import shared_task
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.utils import timezone

from apps.tasks.publishing import publish
from tasksys_site.celery import CLEAR_SESSIONS, FIRE_DUE

log = logging.getLogger(__name__)


@shared_task(name=FIRE_DUE, ignore_result=True)
def fire_due() -> None:
    """What was due while nothing ran is published now: the moment stands in the draft, not in the broker."""
    try:
        for number in publish.fire_due():
            log.info("a scheduled draft was published", extra={"revision": number})
    except DatabaseError as error:
        log.warning("scheduled drafts cannot be looked at; the next look is in a second", extra={"error": error})


@shared_task(name=CLEAR_SESSIONS, ignore_result=True)
def clear_sessions() -> None:
    """Those that have expired; Django forgets only whoever logs out."""
    try:
        removed, _ = Session.objects.filter(expire_date__lt=timezone.now()).delete()
    except DatabaseError as error:
        log.warning("expired sessions could not be deleted; they are tomorrow", extra={"error": error})
    else:
        log.info("expired sessions were deleted", extra={"sessions": removed})
