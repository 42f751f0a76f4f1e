"""What a draft would become if it were published now: its bundle, loaded, for previews and explanations."""

from __future__ import annotations

import functools

from django.utils import timezone

from apps.tasks.config.compile import compile_bundle
from apps.tasks.evaluation.bundle import Bundle, load_bundle
from apps.tasks.models import Draft, Task
from apps.tasks.publishing.drafts import configuration_of
from apps.tasks.publishing.live import live_number
from apps.tasks.publishing.revisions import bundle_of, uids_of_lists

BUNDLES_KEPT = 3


def bundle_of_draft(draft: Draft) -> Bundle:
    """On top of what is live. Raises what a draft with faults makes of compiling: BadBundle, KeyError, ValueError."""
    return _bundle(draft.pk, draft.edition, live_number())


@functools.lru_cache(maxsize=BUNDLES_KEPT)
def _bundle(number: int, edition: int, live: int) -> Bundle:
    draft = Draft.objects.get(pk=number)
    configuration = configuration_of(draft)
    return load_bundle(
        compile_bundle(
            configuration,
            numbers=dict(Task.objects.values_list("code", "id")),
            uids=uids_of_lists(configuration),
            revision=live + 1,
            published_at=timezone.now(),
            previous=bundle_of(live),
            in_flight="apply" if draft.in_flight == "apply" else "keep",
            history_counts=draft.history_counts,
        )
    )
