"""The shapes of events, steps and batches for the OpenAPI schema. Nothing here runs in a request; a test holds them to real answers."""

from __future__ import annotations

from rest_framework import serializers

from apps.tasks.api.shapes import ProblemSerializer, ReasonSerializer, UidField, UserTasksSerializer
from workers.protocol import CLAIMED, COMPLETED, IN_PROGRESS, MAX_VALUE

EVENT_ID = "Chosen by you, one for each event. Sent again, it does nothing again."
AT = "When it happened, with an offset. Without it: now."
KNOWN = "What you know of the user, by attribute, for conditions and his zone."


class StepBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    event_id = serializers.CharField(max_length=64, help_text=EVENT_ID)
    at = serializers.DateTimeField(required=False, allow_null=True, help_text=AT)
    attributes = serializers.DictField(required=False, help_text=KNOWN)


class ClaimBodySerializer(StepBodySerializer):
    period = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=32,
        help_text="An earlier period's key, as in `still_claimable`. Without it: the present one.",
    )


class RevertBodySerializer(ClaimBodySerializer):
    value = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_VALUE,
        help_text="Of mode add: how much is taken back; of max and set: what remains. Without it: 1.",
    )
    member = serializers.JSONField(required=False, allow_null=True, help_text="Of mode distinct: the value that counts no more.")


class EventBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    event_id = serializers.CharField(max_length=64, help_text=EVENT_ID)
    type = serializers.CharField(help_text="A registered event type.")
    value = serializers.IntegerField(
        required=False, min_value=0, max_value=MAX_VALUE, help_text="What modes add, max and set take. Without it: 1."
    )
    at = serializers.DateTimeField(required=False, allow_null=True, help_text=AT)
    attributes = serializers.DictField(required=False, help_text="The event's own attributes, which feeds ask for.")
    profile = serializers.DictField(required=False, help_text=KNOWN)


class EventItemSerializer(EventBodySerializer):
    uid = UidField()


class EventsBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    items = EventItemSerializer(many=True, help_text="At most 500.")


class UserItemSerializer(serializers.Serializer):  # type: ignore[type-arg]
    uid = UidField()
    attributes = serializers.DictField(required=False, help_text=KNOWN)


class UsersBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    items = UserItemSerializer(many=True, help_text="At most 500.")


class StepTaskSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.CharField()
    period = serializers.CharField()
    state = serializers.ChoiceField(choices=(IN_PROGRESS, COMPLETED, CLAIMED))
    progress = serializers.IntegerField(min_value=0)
    target = serializers.IntegerField(min_value=1)
    completed_now = serializers.BooleanField(help_text="It was this event that completed the task.")
    claimed_now = serializers.BooleanField(required=False, help_text="Of a claim: it was this event that claimed.")
    points = serializers.IntegerField(help_text="What this event gave; negative: what it took back.")
    resets_at = serializers.DateTimeField(allow_null=True)


class StepSerializer(serializers.Serializer):  # type: ignore[type-arg]
    uid = UidField()
    event_id = serializers.CharField()
    applied = serializers.BooleanField(help_text="False: this event_id was here before; `task` is what it did then.")
    generation = serializers.IntegerField(min_value=0)
    version = serializers.IntegerField(min_value=0)
    points = serializers.IntegerField(help_text="The user's total now.")
    task = StepTaskSerializer()


class FedTaskSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.CharField(allow_blank=True, help_text="Empty when the task is not published any more.")
    period = serializers.CharField()
    state = serializers.ChoiceField(choices=(IN_PROGRESS, COMPLETED, CLAIMED))
    progress = serializers.IntegerField(min_value=0)
    target = serializers.IntegerField(min_value=0)
    completed_now = serializers.BooleanField(help_text="It was this event that completed the task.")
    claimed_now = serializers.BooleanField()
    points = serializers.IntegerField(help_text="What this event gave.")
    resets_at = serializers.DateTimeField(allow_null=True)
    reasons = ReasonSerializer(many=True, help_text="Why it did less than it could: a cap was reached meanwhile.")


class NotFedSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.CharField()
    reasons = ReasonSerializer(many=True)


class EventSerializer(serializers.Serializer):  # type: ignore[type-arg]
    uid = UidField()
    event_id = serializers.CharField()
    applied = serializers.BooleanField(help_text="False: it feeds nothing, or it was here before; `tasks` is what it did then.")
    generation = serializers.IntegerField(min_value=0)
    version = serializers.IntegerField(min_value=0)
    points = serializers.IntegerField(help_text="The user's total now.")
    tasks = FedTaskSerializer(many=True, help_text="What it did, task by task.")
    not_counted = NotFedSerializer(many=True, help_text="Tasks that listen for such an event, and why it does not count for them.")


class EventResultSerializer(serializers.Serializer):  # type: ignore[type-arg]
    result = EventSerializer(required=False)
    problem = ProblemSerializer(required=False, help_text="Instead of a result; `pointer` begins with #/items/.")


class EventsSerializer(serializers.Serializer):  # type: ignore[type-arg]
    items = EventResultSerializer(many=True, help_text="One for each item, in order.")


class UserResultSerializer(serializers.Serializer):  # type: ignore[type-arg]
    result = UserTasksSerializer(required=False)
    problem = ProblemSerializer(required=False, help_text="Instead of a result; `pointer` begins with #/items/.")


class UsersSerializer(serializers.Serializer):  # type: ignore[type-arg]
    items = UserResultSerializer(many=True, help_text="One for each item, in order.")
