"""What is exported comes back unchanged; what cannot be read is told with its line and column."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.tasks.config.documents import Claim, Configuration, Feed, Period, Text, encode
from apps.tasks.config.exchange import Imported, export_json, import_json
from apps.tasks.config.line_faults import LineFault, say_line
from apps.tasks.config.table import export_csv, import_csv
from apps.tasks.config.validate import validate
from apps.tasks.config.words import say_fault
from tests.unit.config_strategies import FEW, configurations
from tests.unit.task_documents import END, LEVEL, a_configuration, a_task, only_if
from tests.unit.wording import has_unfilled_place


def brought(imported: Imported) -> Configuration:
    return Configuration().changed(dict(imported.changes))


def problems(imported: Imported) -> list[tuple[str, int, str]]:
    for fault in imported.faults:
        assert say_fault(fault) != fault.code
        assert not has_unfilled_place(say_fault(fault) + say_line(fault), fault)
    return [(fault.code, fault.line, fault.column) for fault in imported.faults]


@FEW
@given(configurations())
def test_json_comes_back_without_loss(configuration: Configuration) -> None:
    imported = import_json(export_json(configuration))

    assert imported.faults == []
    assert encode(brought(imported)) == encode(configuration)


@FEW
@given(configurations())
def test_tasks_come_back_from_a_table_without_loss(configuration: Configuration) -> None:
    imported = import_csv(export_csv(configuration))

    assert imported.faults == []
    assert encode(brought(imported)) == encode(Configuration(tasks=configuration.tasks))


@FEW
@given(configurations())
def test_no_cell_of_a_table_begins_like_a_formula(configuration: Configuration) -> None:
    for row in csv.reader(io.StringIO(export_csv(configuration).decode("utf-8-sig"), newline="")):
        for cell in row:
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))
            assert not cell.startswith("-") or cell[1:].isdigit()


@FEW
@given(configurations(), st.data())
def test_a_damaged_file_is_told_and_never_an_exception(configuration: Configuration, data: st.DataObject) -> None:
    for exported, read in ((export_json(configuration), import_json), (export_csv(configuration), import_csv)):
        at = data.draw(st.integers(0, len(exported)))
        damaged = exported[:at] + data.draw(st.binary(max_size=3)) + exported[at + data.draw(st.integers(0, 3)) :]
        problems(read(damaged))


@FEW
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@example(b"%(")
def test_anything_at_all_can_be_uploaded(data: bytes) -> None:
    problems(import_json(data))
    problems(import_csv(data))


def test_a_formula_in_a_text_is_disarmed_and_read_back() -> None:
    task = a_task(
        texts={"en": Text(name='=HYPERLINK("http://x")', description="'=1", button="-5"), "zh-hans": Text(name="@SUM")}, weight=-5
    )

    exported = export_csv(a_configuration(task)).decode("utf-8-sig")

    assert """"'=HYPERLINK(""http://x"")",''=1,'-5""" in exported
    assert ",-5," in exported
    assert import_csv(exported.encode()).changes == {("task", "daily-login"): task}


def table(*lines: str) -> bytes:
    return "\r\n".join(lines).encode()


def test_a_table_of_few_columns_changes_only_these() -> None:
    present = a_configuration(a_task(ends_at=END, texts={"en": Text(name="a", button="b"), "zh-hans": Text(name="c")}))

    imported = import_csv(table("code,points,texts.en.name", "daily-login,20,New name"), onto=present)

    assert problems(imported) == []
    wanted = a_task(ends_at=END, points=20, texts={"en": Text(name="New name", button="b"), "zh-hans": Text(name="c")})
    assert imported.changes == {("task", "daily-login"): wanted}


def test_an_empty_cell_takes_a_value_away() -> None:
    present = a_configuration(a_task(ends_at=END, points=7, period=Period(kind="daily", zone="Asia/Shanghai")))

    imported = import_csv(table("code,ends_at,points,period.zone", "daily-login,,,"), onto=present)

    assert imported.changes == {("task", "daily-login"): a_task(points=0, period=Period(kind="daily"))}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_spreadsheets_make_of_a_table_is_understood(delimiter: str) -> None:
    data = table(
        delimiter.join(["code", "starts_at", "switched_off", "period.kind", "period.anchor", "points", "texts.en.name"]),
        delimiter.join(["daily-login", "2026-12-01T00:00:00Z", "TRUE", "every_days", "2026/12/1", " 5 ", '"Log in, today;"']),
        delimiter * 6,
    )

    imported = import_csv(data)

    assert problems(imported) == []
    (task,) = imported.changes.values()
    assert to_dict(task) == {
        "code": "daily-login",
        "starts_at": "2026-12-01T00:00:00Z",
        "switched_off": True,
        "period": {"kind": "every_days", "anchor": "2026-12-01"},
        "points": 5,
        "texts": {"en": {"name": "Log in, today;"}},
    }


def to_dict(document: Any) -> Any:
    return json.loads(encode(document))


START = "2026-12-01T00:00:00Z"


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (table("code,points,colour", "x,5,red"), ("column_unknown", 1, "colour")),
        (table("code,points,points", "x,5,5"), ("column_twice", 1, "points")),
        (table("code,texts.en.colour", "x,red"), ("column_unknown", 1, "texts.en.colour")),
        (table("points", "5"), ("column_code_missing", 1, "")),
        (table("code,starts_at", ""), None),
        (b"", ("column_code_missing", 1, "")),
        (table("code,starts_at,points", f"x,{START},1", f"y,{START},five"), ("cell_number", 3, "points")),
        (table("code,starts_at,points", f"y,{START},1_0"), ("cell_number", 2, "points")),
        (table("code,starts_at,archived", f"y,{START},maybe"), ("cell_boolean", 2, "archived")),
        (table("code,starts_at,tiers", f"y,{START},[1"), ("cell_json", 2, "tiers")),
        (table("code,starts_at,tiers", f'y,{START},"[{{""target"":""x""}}]"'), ("type_wrong", 2, "tiers.0.target")),
        (table("code,starts_at,kind", f"y,{START},raffle"), ("choice_unknown", 2, "kind")),
        (table("code,kind", "y,single"), ("field_missing", 2, "starts_at")),
        (table("code,starts_at", f",{START}"), ("code_missing", 2, "code")),
        (table("code,starts_at", f"x,{START},1"), ("cells_too_many", 2, "")),
        (table("code,starts_at", f"x,{START}", f"x,{START}"), ("document_twice", 3, "")),
        (table("code,starts_at", f'"x",{START}', f'"y"z,{START}'), ("table_syntax", 3, "")),
        (table("code,starts_at", f'"x\ny",{START}', f"z,{START},"), ("cells_too_many", 4, "")),
        ("code\n名字".encode("gb18030"), ("table_encoding", 0, "")),
        (table("code,period.anchor,starts_at", f"x,1.13.2026,{START}"), ("day_pattern", 2, "period.anchor")),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_line_and_column(data: bytes, wanted: tuple[str, int, str] | None) -> None:
    assert problems(import_csv(data)) == ([wanted] if wanted else [])


def test_one_wrong_row_does_not_hide_the_others() -> None:
    imported = import_csv(table("code,starts_at,points", f"x,{START},a", f"y,{START},2", f"z,{START},b"))

    assert problems(imported) == [("cell_number", 2, "points"), ("cell_number", 4, "points")]
    assert [key for _kind, key in imported.changes] == ["y"]


def lines(*parts: str) -> bytes:
    return "\n".join(parts).encode()


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\xff\xfe{", ("file_no_text", 0, "")),
        (lines('{"schema": 1,', '"tasks": [', "}"), ("json_syntax", 3, "1")),
        (lines('{"schema": 1, "tasks": [{"code": "x",', '"code": "y"}]}'), ("field_twice", 0, "")),
        (lines('{"schema": 1, "attributes": [{"name": "x", "type": "number", "default": NaN}]}'), ("number_unknown", 0, "")),
        (b"[]", ("file_not_ours", 0, "")),
        (b'{"schema": 2}', ("file_not_ours", 0, "")),
        (b'{"schema": 1, "rewards": []}', ("part_unknown", 0, "")),
        (b'{"schema": 1, "tasks": {}}', ("type_wrong", 0, "")),
        (b'{"schema": 1, "tasks": ' + b"[" * 100_000, ("not_storable", 0, "")),
        (
            lines('{"schema": 1, "tasks": [', '{"code": "x", "starts_at":', f'"{START}"}},', '{"code": "y",', '"points": "5"}]}'),
            ("type_wrong", 4, "points"),
        ),
        (lines('{"schema": 1, "events": [', '{"name": "x"},', '{"name": "x"}]}'), ("document_twice", 3, "")),
        (lines('{"schema": 1, "events": [', '{"nom": "x"}]}'), ("field_unknown", 2, "nom")),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_json_file_is_told_with_its_line(data: bytes, wanted: tuple[str, int, str]) -> None:
    assert wanted in problems(import_json(data))


def test_faults_of_the_whole_are_found_again_in_the_file() -> None:
    present = a_configuration()
    data = export_json(
        a_configuration(
            a_task("a", conditions=((only_if("level", ">=", "x"),),)),
            a_task("b", feeds=(Feed(event="match_finished"),), claim=Claim(mode="by_claim", grace_s=-1)),
        ),
        kinds=["task"],
    )
    imported = import_json(data)

    placed = imported.in_file(validate(present.changed(dict(imported.changes))))

    assert [(fault.code, fault.column) for fault in placed] == [
        ("value_wrong_type", "conditions.0.0.value"),
        ("span_out_of_range", "claim.grace_s"),
    ]
    for fault, code in zip(placed, "ab", strict=True):
        after = "\n".join(data.decode().splitlines()[fault.line - 1 :])
        assert after.lstrip().startswith("{")
        assert after.index(f'"code": "{code}"') < 200
    assert say_line(placed[0]) == f"line {placed[0].line}, column conditions.0.0.value"
    assert say_line(LineFault("", "file_no_text")) == "the file as a whole"


def test_a_fault_of_a_document_that_the_file_does_not_hold_has_no_line() -> None:
    imported = import_csv(table("code,starts_at", f"x,{START}"))
    (placed,) = imported.in_file(validate(Configuration(attributes={"level": LEVEL.__class__(name="level", type="number", ttl_s=0)})))

    assert (placed.code, placed.line, placed.column) == ("span_out_of_range", 0, "")
