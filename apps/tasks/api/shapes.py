"""The shapes of requests and answers for the OpenAPI schema. Nothing here runs in a request; a test holds them against real answers."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.tasks.api.problems import CAUSES
from apps.tasks.evaluation.explanation import CHECKS, MET, UNKNOWN, UNMET
from apps.tasks.evaluation.reasons import REASONS, REFUSALS, STATUSES

UID = {
    "oneOf": [
        {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**53 - 1},
        {"type": "string", "pattern": "^[0-9]{16,19}$"},
    ],
    "description": "A number; from 2^53 on a string of digits, which every JSON reader keeps exactly.",
    "example": 1000000000042,
}


@extend_schema_field(UID)
class UidField(serializers.Field):  # type: ignore[type-arg]
    pass


class ReasonSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.ChoiceField(choices=(*REASONS, *REFUSALS), help_text="Stable; programs look at this.")
    text = serializers.CharField(help_text="A sentence in the language asked for.")
    about = serializers.CharField(required=False, help_text="The attribute, list, task, group or cap. With `reasons=values`, as all below.")
    operator = serializers.CharField(required=False)
    wanted = serializers.JSONField(required=False, help_text="What was wanted.")
    actual = serializers.JSONField(required=False, help_text="What is.")


class TierSerializer(serializers.Serializer):  # type: ignore[type-arg]
    target = serializers.IntegerField(min_value=1)
    points = serializers.IntegerField(min_value=0, help_text="Of this tier alone.")
    reached = serializers.BooleanField()


class StreakSerializer(serializers.Serializer):  # type: ignore[type-arg]
    in_row = serializers.IntegerField(min_value=0, help_text="Completed in a row in the present streak, of `length`.")
    length = serializers.IntegerField(min_value=1)
    grace = serializers.IntegerField(min_value=0, help_text="So many missed periods between two do not break it.")
    fills = serializers.BooleanField(help_text="Completing the present period makes, or made, the streak full.")


class ClaimableSerializer(serializers.Serializer):  # type: ignore[type-arg]
    period = serializers.CharField()
    points = serializers.IntegerField(min_value=0)
    until = serializers.DateTimeField(allow_null=True)


class TaskSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.CharField()
    kind = serializers.ChoiceField(choices=("single", "counter", "tiers", "streak"))
    name = serializers.CharField()
    description = serializers.CharField()
    button = serializers.CharField()
    link = serializers.CharField()
    category = serializers.CharField()
    icon = serializers.CharField()
    weight = serializers.IntegerField(help_text="Tasks come with the heaviest first.")
    tags = serializers.ListField(child=serializers.CharField())
    state = serializers.ChoiceField(choices=STATUSES)
    accepted = serializers.BooleanField(help_text="False: it must be accepted before anything counts.")
    period = serializers.CharField(help_text="The period key: which day, week, … the progress belongs to, or “once”.")
    progress = serializers.IntegerField(min_value=0)
    target = serializers.IntegerField(min_value=1)
    points = serializers.IntegerField(
        min_value=0, help_text="What completing it gives: all tiers together; of a streak, only when it becomes full."
    )
    tiers = TierSerializer(many=True)
    streak = StreakSerializer(allow_null=True)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    resets_at = serializers.DateTimeField(allow_null=True, help_text="When the period ends and the task can be done anew; null: never.")
    completed_at = serializers.DateTimeField(allow_null=True)
    claimed_at = serializers.DateTimeField(allow_null=True)
    claim_until = serializers.DateTimeField(
        allow_null=True, help_text="When a claimable reward can be claimed no more; null: never, or none."
    )
    still_claimable = ClaimableSerializer(many=True, help_text="Rewards of earlier periods that can still be claimed.")
    reasons = ReasonSerializer(many=True, help_text="Why it cannot be done now; empty when it can.")


class UserTasksSerializer(serializers.Serializer):  # type: ignore[type-arg]
    uid = UidField()
    generation = serializers.IntegerField(min_value=0)
    version = serializers.IntegerField(min_value=0, help_text="Rises with every write of this user, within one generation.")
    points = serializers.IntegerField()
    tasks = TaskSerializer(many=True)


class ExplainBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    uid = UidField()
    at = serializers.DateTimeField(required=False, allow_null=True, help_text="At which moment, with an offset. Without it: now.")
    attributes = serializers.DictField(required=False, help_text="What you know of the user, by attribute.")
    tasks = serializers.ListField(child=serializers.CharField(), required=False, allow_null=True, help_text="Codes. Without it: all tasks.")
    draft = serializers.IntegerField(
        required=False, allow_null=True, help_text="An open draft's number (scope `admin`). Without it: what is live."
    )


class CheckSerializer(serializers.Serializer):  # type: ignore[type-arg]
    check = serializers.ChoiceField(choices=CHECKS)
    outcome = serializers.ChoiceField(choices=(MET, UNMET, UNKNOWN), help_text="Unknown never counts as met.")
    reason = serializers.CharField(required=False, help_text="The reason code that a decision gives when this decides.")
    decides = serializers.BooleanField(required=False, help_text="It is this that stands against the task.")
    about = serializers.CharField(required=False, help_text="The attribute, list, task, group or cap.")
    operator = serializers.CharField(required=False)
    wanted = serializers.JSONField(required=False)
    actual = serializers.JSONField(required=False)
    group = serializers.IntegerField(required=False, help_text="Of a condition: its group, from 1.")
    note = serializers.CharField(required=False, help_text="Where a value comes from, or why it is unknown.")


class CapsLeftSerializer(serializers.Serializer):  # type: ignore[type-arg]
    per_user = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    per_period = serializers.IntegerField(allow_null=True)
    points_budget = serializers.IntegerField(allow_null=True)


class ExplainedTaskSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.CharField()
    name = serializers.CharField()
    shown = serializers.BooleanField(help_text="Whether the user sees the task.")
    state = serializers.ChoiceField(choices=STATUSES)
    period = serializers.CharField()
    period_starts_at = serializers.DateTimeField(allow_null=True)
    resets_at = serializers.DateTimeField(allow_null=True)
    zone = serializers.CharField(help_text="In which the period was found; empty where it has none.")
    progress = serializers.IntegerField(min_value=0)
    target = serializers.IntegerField(min_value=1)
    points = serializers.IntegerField(min_value=0)
    streak = StreakSerializer(allow_null=True)
    caps_left = CapsLeftSerializer(allow_null=True)
    bucket = serializers.IntegerField(min_value=0, max_value=9_999, help_text="The user's, for this task's gray release.")
    percentage_bp = serializers.IntegerField(min_value=0, max_value=10_000, help_text="Buckets below it have the task.")
    checks = CheckSerializer(many=True, help_text="In their fixed order.")


class ExplainedUserSerializer(serializers.Serializer):  # type: ignore[type-arg]
    uid = UidField()
    at = serializers.DateTimeField()
    revision = serializers.IntegerField(min_value=0, help_text="What is live; of a draft: what it would become.")
    draft = serializers.IntegerField(allow_null=True)
    generation = serializers.IntegerField(min_value=0)
    version = serializers.IntegerField(min_value=0)
    tasks = ExplainedTaskSerializer(many=True)


class ForgottenUserSerializer(serializers.Serializer):  # type: ignore[type-arg]
    uid = UidField()
    event_id = serializers.CharField()
    applied = serializers.BooleanField()
    generation = serializers.IntegerField(min_value=0)
    version = serializers.IntegerField(min_value=0)


class FaultSerializer(serializers.Serializer):  # type: ignore[type-arg]
    pointer = serializers.CharField(allow_blank=True, help_text="A JSON pointer into the configuration: /tasks/log-in-today/ends_at")
    code = serializers.CharField(help_text="Stable; programs look at this.")
    level = serializers.ChoiceField(choices=("fault", "warning"), help_text="A warning keeps nothing from being published.")
    text = serializers.CharField(help_text="What is wrong, and the way out.")
    line = serializers.IntegerField(required=False, help_text="Of the file that was sent.")


class ConflictSerializer(serializers.Serializer):  # type: ignore[type-arg]
    kind = serializers.ChoiceField(choices=("task", "attribute", "event", "list"))
    key = serializers.CharField()
    path = serializers.ListField(child=serializers.CharField(), help_text="The field; empty: the document as a whole.")
    base = serializers.JSONField(allow_null=True, help_text="What both changes began from.")
    mine = serializers.JSONField(allow_null=True, help_text="The draft's value.")
    theirs = serializers.JSONField(allow_null=True, help_text="The live value.")
    revision = serializers.IntegerField(allow_null=True, help_text="Which revision brought the live value.")
    by = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField(allow_null=True)


class DraftSerializer(serializers.Serializer):  # type: ignore[type-arg]
    draft = serializers.IntegerField(allow_null=True, help_text="Its number; null after a dry run.")
    edition = serializers.IntegerField(min_value=1, help_text="Rises with each change; say it with what you ask for.")
    state = serializers.ChoiceField(choices=("editing", "in_review", "approved", "scheduled", "published", "discarded"))
    base_revision = serializers.IntegerField(min_value=0)
    live_revision = serializers.IntegerField(min_value=0)
    changes = serializers.ListField(child=serializers.CharField(), help_text="In sentences, against what is live.")
    faults = FaultSerializer(many=True)
    conflicts = ConflictSerializer(many=True)
    publish_at = serializers.DateTimeField(allow_null=True)


class ListedRevisionSerializer(serializers.Serializer):  # type: ignore[type-arg]
    revision = serializers.IntegerField(min_value=1)
    published_at = serializers.DateTimeField()
    published_by = serializers.CharField()
    origin = serializers.CharField(help_text="On which path: page, api, schedule, roll_back, switch, command, migration.")
    reason = serializers.CharField(allow_blank=True)
    changes = serializers.IntegerField(min_value=0, help_text="How many documents it changed.")
    rolls_back_to = serializers.IntegerField(allow_null=True)


class RevisionPageSerializer(serializers.Serializer):  # type: ignore[type-arg]
    items = ListedRevisionSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Give it as `cursor` for the next page; null: this is the last.")


class ListedDraftSerializer(serializers.Serializer):  # type: ignore[type-arg]
    draft = serializers.IntegerField(min_value=1)
    title = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=("editing", "in_review", "approved", "scheduled", "published", "discarded"))
    edition = serializers.IntegerField(min_value=1)
    base_revision = serializers.IntegerField(min_value=0)
    opened_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    publish_at = serializers.DateTimeField(allow_null=True)


class DraftPageSerializer(serializers.Serializer):  # type: ignore[type-arg]
    items = ListedDraftSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Give it as `cursor` for the next page; null: this is the last.")


class PublishedSerializer(serializers.Serializer):  # type: ignore[type-arg]
    revision = serializers.IntegerField(min_value=1)
    etag = serializers.CharField()
    published_at = serializers.DateTimeField()


class EditionBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    edition = serializers.IntegerField(help_text="Which edition of the draft you have seen.")


class PublishBodySerializer(EditionBodySerializer):
    reason = serializers.CharField(help_text="Why; it stands in the history.")
    at = serializers.DateTimeField(required=False, allow_null=True, help_text="Not now but at this moment, with an offset.")
    in_flight = serializers.ChoiceField(
        choices=("keep", "apply"), required=False, help_text="Whether users keep the rules of the period that they are in."
    )
    history_counts = serializers.BooleanField(required=False, help_text="Whether earlier events count for new tasks.")


class ResolveBodySerializer(EditionBodySerializer):
    kind = serializers.ChoiceField(choices=("task", "attribute", "event", "list"))
    key = serializers.CharField()
    path = serializers.ListField(child=serializers.CharField())
    take = serializers.ChoiceField(choices=("mine", "theirs"))
    seen = serializers.IntegerField(help_text="The live revision in which you saw the other value.")


class BundleSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """Described whole in docs/evaluation.md."""

    schema = serializers.IntegerField()
    revision = serializers.IntegerField(min_value=1)
    published_at = serializers.DateTimeField()
    tasks = serializers.ListField(child=serializers.JSONField())
    attributes = serializers.DictField(child=serializers.JSONField())
    events = serializers.DictField(child=serializers.JSONField())
    lists = serializers.DictField(child=serializers.JSONField())


class DocumentsSerializer(serializers.Serializer):  # type: ignore[type-arg]
    schema = serializers.IntegerField()
    tasks = serializers.ListField(child=serializers.JSONField(), required=False)
    attributes = serializers.ListField(child=serializers.JSONField(), required=False)
    events = serializers.ListField(child=serializers.JSONField(), required=False)
    lists = serializers.ListField(child=serializers.JSONField(), required=False)


class ProblemSerializer(serializers.Serializer):  # type: ignore[type-arg]
    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.ChoiceField(choices=sorted(CAUSES), help_text="Stable; programs look at this.")
    detail = serializers.CharField(help_text="A sentence on this case.")
    pointer = serializers.CharField(required=False, help_text="What is wrong: #/field of the body, path/…, query/… or header/….")
    retryable = serializers.BooleanField(help_text="May it be sent again?")
    outcome_unknown = serializers.BooleanField(help_text="May it have happened all the same? Then repeat it with the same event_id.")
    reasons = ReasonSerializer(many=True, required=False)
    faults = FaultSerializer(many=True, required=False, help_text="Of 422: everything that is wrong, with its place.")
    conflicts = ConflictSerializer(many=True, required=False, help_text="Of 409 `conflict`: where a newer revision changed the same.")
    cause = serializers.CharField(required=False, help_text="Of 409 `draft_refused`: stable; why.")
    edition = serializers.IntegerField(required=False, help_text="Of cause `stale`: the draft's edition now.")
