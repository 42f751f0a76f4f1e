"""Which configuration a user is explained on: what is live, an open draft as it would be published now, or an older revision."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import msgspec
from django.http import HttpRequest

from apps.tasks.evaluation.bundle import BadBundle, Bundle, load_bundle
from apps.tasks.models import Draft, Revision
from apps.tasks.models.drafts import OPEN_STATES
from apps.tasks.publishing.live import live_number
from apps.tasks.publishing.preview import bundle_of_draft
from apps.tasks.publishing.revisions import bundle_of

LIVE, DRAFT, REVISION = "live", "draft", "revision"
LOADED_KEPT = 3


class CannotBeExplained(Exception):
    """Nothing can be evaluated: there is no such configuration, or it has faults that keep it from being compiled."""


@dataclass(frozen=True, slots=True)
class Source:
    """`sort`: LIVE, DRAFT or REVISION; `number`: of the draft or the revision."""

    sort: str
    number: int
    draft: Draft | None = None

    @property
    def word(self) -> str:
        return LIVE if self.sort == LIVE else f"{self.sort}-{self.number}"


def source_asked_for(request: HttpRequest) -> Source:
    """`on`: draft-3, revision-40, or what is live. What is asked for and not there is not replaced by something else: see `load_source`."""
    sort, _dash, text = request.GET.get("on", "").partition("-")
    if sort == REVISION and not text:
        text = request.GET.get("revision", "").strip()
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if sort == DRAFT:
        return Source(DRAFT, number, Draft.objects.filter(pk=number, state__in=OPEN_STATES).first())
    return Source(REVISION, number) if sort == REVISION else Source(LIVE, live_number())


def load_source(source: Source) -> Bundle:
    """Raises CannotBeExplained."""
    try:
        if source.draft is not None:
            return bundle_of_draft(source.draft)
        if source.sort == DRAFT:
            raise CannotBeExplained(f"draft {source.number} is not open")
        etag = Revision.objects.filter(number=source.number).values_list("etag", flat=True).first()
        if etag is None:
            raise CannotBeExplained("nothing is published yet" if source.sort == LIVE else f"there is no revision {source.number}")
        return _of_revision(source.number, etag)
    except (BadBundle, KeyError, ValueError, msgspec.ValidationError) as error:
        raise CannotBeExplained(str(error)) from error


@functools.lru_cache(maxsize=LOADED_KEPT)
def _of_revision(number: int, etag: str) -> Bundle:
    """A revision never changes; the tag tells those of two databases from each other."""
    bundle = bundle_of(number)
    assert bundle is not None
    return load_bundle(bundle)
