"""What the task form's template asks of its tags."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from apps.tasks.templatetags.task_fields import code_marks, faults_at, faults_only_at

PLACED = [(("tiers",), "none"), (("tiers", "1", "target"), "too low"), (("ends_at",), "too early")]


def test_names_between_backticks_are_code_and_nothing_else_is_markup() -> None:
    assert code_marks("Task `a<b`: <i>") == "Task <code>a&lt;b</code>: &lt;i&gt;"
    assert code_marks(gettext_lazy("lazily `said`")) == "lazily <code>said</code>"


def test_a_fault_is_found_at_its_place_and_at_what_contains_it() -> None:
    assert faults_at(PLACED, "tiers", 1) == ["too low"]
    assert faults_at(PLACED, "tiers") == ["none", "too low"]
    assert faults_only_at(PLACED, "tiers") == ["none"]
