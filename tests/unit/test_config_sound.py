"""What validation lets pass, the evaluator takes: the live bundle never breaks."""

from __future__ import annotations

from datetime import datetime, timezone

from hypothesis import given

from apps.tasks.config.compile import compile_bundle
from apps.tasks.config.documents import Configuration, decode_configuration, encode
from apps.tasks.config.faults import refusals
from apps.tasks.config.validate import validate
from apps.tasks.config.words import say_fault
from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import load_bundle
from apps.tasks.evaluation.evaluator import evaluate
from tests.unit.config_strategies import FEW, configurations, sound_configurations
from workers.protocol import Snapshot

NOW = datetime(2026, 11, 30, 10, tzinfo=timezone.utc)
CONTENTS = {"0" * 64: [42, 43], "f" * 64: []}


def bundle_of(configuration: Configuration) -> bytes:
    return compile_bundle(configuration, {code: number for number, code in enumerate(configuration.tasks, start=1)}, CONTENTS, 7, NOW)


@FEW
@given(sound_configurations())
def test_a_configuration_without_faults_is_taken_whole_by_the_evaluator(configuration: Configuration) -> None:
    assert [(fault.pointer, say_fault(fault)) for fault in refusals(validate(configuration))] == []

    bundle = load_bundle(bundle_of(configuration))
    decisions = evaluate(bundle, Profile(42, {"number": 3, "text": "a", "version": "1.10"}), Snapshot(42, 0, 0, 0, []), NOW)

    assert bundle.left_out == {}
    assert {task.code for task in bundle.tasks} == {code for code, task in configuration.tasks.items() if not task.archived}
    assert [decision.task.code for decision in decisions] == [task.code for task in bundle.tasks]


@FEW
@given(configurations())
def test_any_configuration_that_can_be_read_can_be_validated_and_every_fault_can_be_said(configuration: Configuration) -> None:
    for fault in validate(decode_configuration(encode(configuration)), configuration):
        assert fault.pointer.startswith("/")
        assert say_fault(fault) != fault.code
