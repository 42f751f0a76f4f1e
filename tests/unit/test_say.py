"""The words for findings, exactly, in both languages."""

from __future__ import annotations

import re
from datetime import timedelta, timezone

import pytest

from apps.dbsvr import quantities
from apps.dbsvr.canary import LOST, OLD, TWICE
from apps.dbsvr.findings import Fact, Finding
from apps.dbsvr.judge import RULES
from apps.dbsvr.quantities import EN, ZH
from apps.dbsvr.say import SAME_WORDS, say
from apps.dbsvr.segment_rules import LEVELS as SEGMENT_LEVELS
from apps.dbsvr.words import en, zh_hans
from tests.unit.samples_of_a_dbsvr import START
from workers.timelines import ADOPTION, PROMOTION, RESTORE

SHANGHAI = timezone(timedelta(hours=8))
AT = 1_796_006_467.0  # 10:41:07 in Shanghai


def words(code: str, case: str, language: str, **facts: Fact) -> str:
    return str(say(Finding(code, "attention", "a/r1", START, case, facts), language, SHANGHAI))


LAG: dict[str, Fact] = {"replica": "r1", "lag_ms": 12_400.0}

EXACT = [
    (
        "ok",
        "reads",
        {"reads_rate": 41_280.0, "replica_share": 0.92, "lag_ms": 200.0, "wait_ms": 40.0},
        "All well. 41,280 reads/s, 92 % of them from replicas, at most 0.2 s behind. No reads or writes wait longer than 40 ms.",
        "一切正常。 每秒 41,280 次读，92% 由从库承担，最多落后 0.2 秒；读写等待不超过 40 毫秒。",
    ),
    (
        "idle",
        "idle",
        {},
        "All well, no traffic. No read or write in the last 60 s. The beat arrives, so this is quiet, not broken.",
        "一切正常，暂无流量。 最近 60 秒没有读写；节拍正常，说明只是空闲。",
    ),
    (
        "replica.lag",
        "falling",
        {**LAG, "late_share": 0.31, "left_ms": 118_000.0 + 4_000, "look_minute": AT + 300},
        "Replica r1 is 12.4 s behind and catching up. 31 % of reads go to the master because their users wrote in the last 12.4 s. "
        "Nobody sees old data. About 2 min left. Nothing to do unless it still grows at 10:46.",
        "从库 r1 落后 12.4 秒，正在追赶。 31% 的读转到主库，因为这些用户在最近 12.4 秒内写过；没有用户会看到旧数据。"
        "预计还需 2 分钟。无需处理，若 10:46 仍在增大请查看。",
    ),
    (
        "replica.lag.growing",
        "growing",
        {"replica": "r1", "lag_ms": 74_000.0, "slope_s": 0.6, "master_share": 0.63, "most_share": 0.82},
        "Replica r1 is 74 s behind and falling further back (+0.6 s each second). The master now answers 63 % of reads, "
        "82 % of the most it has managed. Nobody sees old data. Look for a long transaction on r1, or stop using r1.",
        "从库 r1 落后 74 秒且仍在扩大（每秒 +0.6 秒）。 主库承担 63% 的读，已达历史最高的 82%；没有用户会看到旧数据。"
        "请检查 r1 上的长事务，或暂停使用 r1。",
    ),
    (
        "replica.stopped",
        "by_hand_shared",
        {"replica": "r1", "since_at": AT, "others": "r2,r3"},
        "Replication on r1 is stopped, without an error. Somebody or something stopped it at 10:41:07. "
        "r2, r3 and the master serve its reads. Start it again.",
        "r1 的复制已停止（无错误）。 于 10:41:07 被停止；其读由 r2、r3 和主库承担。请启动复制。",
    ),
    (
        "replica.stopped",
        "error_alone",
        {"replica": "r1", "since_at": AT, "others": "", "error": "1062"},
        "Replication on r1 broke: error 1062, duplicate key. It will not start again by itself. The master serves its reads. "
        "Repair r1, then start it.",
        "r1 的复制出错中断：错误 1062（主键重复）。 不会自行恢复；其读由主库承担。请先修复 r1，再启动复制。",
    ),
    (
        "replica.silent",
        "silent",
        {"replica": "r1", "age_ms": 8_000.0, "dbsvr": "a"},
        "r1 does not answer (8 s). Its lag is unknown, so it serves nothing. Check the host and the network path from DBSvr A.",
        "r1 没有应答（8 秒）。 延迟未知，因此不让它服务。请检查主机以及 DBSvr A 到它的网络。",
    ),
    (
        "replicas.none",
        "busy",
        {"most_share": 0.96},
        "No replica can serve. The master answers every read: 96 % of the most it has managed. Reads stay right; they may become slow.",
        "没有可用的从库。 全部读由主库承担，已达历史最高的 96%。结果仍然正确，但可能变慢。",
    ),
    (
        "master.down",
        "refusing",
        {"age_ms": 4_000.0, "refused": 212.0},
        "Writes are refused: the master does not answer (4 s). 212 writes got MASTERDOWN; clients repeat them with the same event id. "
        "Reads that replicas may serve go on. Look at the master's host and its log.",
        "写被拒绝：主库没有应答（4 秒）。 已有 212 次写返回 MASTERDOWN，客户端会用相同 event id 重试；从库可承担的读继续。"
        "请检查主库的主机和日志。",
    ),
    (
        "master.beat",
        "late",
        {"age_ms": 3_100.0},
        "The master has not committed for 3.1 s although its connection lives. It is frozen or its disk is full. "
        "Lag figures are unknown until it commits again.",
        "主库连接正常，但已 3.1 秒没有提交。 可能被冻结或磁盘已满。在恢复提交前，延迟数据未知。",
    ),
    (
        "queue.clear.age",
        "waiting",
        {"wait_ms": 840_000.0, "waiting": 31},
        "The oldest deletion waits 14 min. Deletions run only when no write and no read waits. 31 wait. "
        "Nothing to do unless it passes 60 min.",
        "最久的删除已等 14 分钟。 只有没有写和读等待时才执行删除；共 31 个。无需处理，若超过 60 分钟请查看。",
    ),
    (
        "replica.refused",
        "fork",
        {"replica": "r1", "instance": "a", "dbsvr": "a", "refusal": "…"},
        "Replica r1 is refused: it holds writes that the master lacks. It serves nothing, so nobody is shown them; the other servers take "
        "its reads. It will not heal by itself: rebuild r1 from the master, then say `python -m workers rebuilt r1 --instance a`, "
        "for each DBSvr.",
        "从库 r1 被拒用：它含有主库没有的写。 它不服务任何读，因此没有人会看到这些写；其读由其他服务器承担。不会自行恢复：请从主库重建 r1，"
        "再对每个 DBSvr 执行 `python -m workers rebuilt r1 --instance a`。",
    ),
    (
        "writes.lost",
        "named",
        {"dbsvr": "a", "writes": 12, "cause": "promotion", "generation": 2, "file": "var/lost", "complete": 1},
        "12 acknowledged writes of DBSvr A are lost: another server was made the master. It went on as generation 2 without them. "
        "Their users see the state before. All of them stand in var/lost, with uid and event id: have them sent again with the same "
        "event ids. This ends after 24 h.",
        "DBSvr A 有 12 次已确认的写丢失：另一台服务器被提升为主库。 它以世代 2 继续运行，不含这些写；相关用户看到的是之前的状态。"
        "全部列在 var/lost 中（含 uid 和 event id）：请用相同的 event id 重新发送。24 小时后本条消失。",
    ),
    (
        "segment.away",
        "taken",
        {"segment": "low", "owner": "b", "home": "a", "since_at": AT},
        "Segment low is with DBSvr B instead of DBSvr A. It was taken over at 10:41:07 because DBSvr A stood still. Its users are served, "
        "and nobody sees old data. Look at DBSvr A; the segment goes back by itself when that is healthy.",
        "号段 low 在 DBSvr B，而不在 DBSvr A。 于 10:41:07 因 DBSvr A 停滞而被接管；其用户正常服务，没有用户会看到旧数据。"
        "请检查 DBSvr A；它恢复健康后号段会自行归还。",
    ),
    (
        "console.blind",
        "",
        {"dbsvr": "a", "since_at": AT, "why": "refused"},
        "This page is blind to DBSvr A since 10:41:07. A may be well. The sampler gets no answer (connection refused). "
        "Figures below are from before.",
        "自 10:41:07 起本页看不到 DBSvr A。 A 可能正常，但采样得不到应答（连接被拒）。下方是之前的数据。",
    ),
]


@pytest.mark.parametrize(("code", "case", "facts", "english", "chinese"), EXACT, ids=[f"{row[0]}-{row[1]}" for row in EXACT])
def test_the_exact_words(code: str, case: str, facts: dict[str, Fact], english: str, chinese: str) -> None:
    assert words(code, case, EN, **facts) == english
    assert words(code, case, ZH, **facts) == chinese


def places(sentence: tuple[str, str]) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", "".join(sentence)))


def test_both_languages_have_the_same_cases_with_the_same_places() -> None:
    assert en.SENTENCES.keys() == zh_hans.SENTENCES.keys()
    for case, sentence in en.SENTENCES.items():
        assert places(sentence) == places(zh_hans.SENTENCES[case]), case
    assert en.CAUSES.keys() == zh_hans.CAUSES.keys() == {PROMOTION, RESTORE, ADOPTION}
    assert en.WHY_NO_ANSWER.keys() == zh_hans.WHY_NO_ANSWER.keys()
    assert en.DATABASE_ERRORS.keys() == zh_hans.DATABASE_ERRORS.keys()


def test_every_rule_has_words() -> None:
    spoken = {case.partition("/")[0] for case in en.SENTENCES}
    assert {SAME_WORDS.get(rule.code, rule.code) for rule in RULES} <= spoken
    assert {"replica.refused", "master.two", "writes.lost", *SEGMENT_LEVELS} <= spoken
    assert {"console.blind", "dbsvr.down", "canary.violation", "ok", "idle", "first"} <= spoken
    assert {f"canary.violation/{kind}" for kind in (OLD, LOST, TWICE)} <= en.SENTENCES.keys()


def test_a_headline_is_a_short_fact() -> None:
    for case, (headline, _text) in en.SENTENCES.items():
        assert headline[-1] == ".", case
        assert len(headline) <= 120, case


def test_a_case_without_words_shows_its_code_instead_of_failing() -> None:
    assert words("something.new", "odd", EN, x_ms=3.0) == "a/r1: something.new/odd"


def test_an_unknown_language_is_answered_in_english() -> None:
    assert words("idle", "idle", "fr").startswith("All well, no traffic.")


@pytest.mark.parametrize(
    ("ms", "english", "chinese"),
    [
        (0.0, "0 ms", "0 毫秒"),
        (1.14, "1.1 ms", "1.1 毫秒"),
        (38.4, "38 ms", "38 毫秒"),
        (999.4, "999 ms", "999 毫秒"),
        (1_000.0, "1 s", "1 秒"),
        (12_449.0, "12.4 s", "12.4 秒"),
        (59_960.0, "60 s", "60 秒"),
        (74_000.0, "74 s", "74 秒"),
        (192_000.0, "3 min 12 s", "3 分钟 12 秒"),
        (840_000.0, "14 min", "14 分钟"),
        (7_500_000.0, "2 h 5 min", "2 小时 5 分钟"),
        (259_200_000.0, "3 d", "3 天"),
    ],
)
def test_durations(ms: float, english: str, chinese: str) -> None:
    assert quantities.duration(ms, EN) == english
    assert quantities.duration(ms, ZH) == chinese


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (0.254, "0.25"), (4.56, "4.6"), (38.04, "38"), (464.4, "464"), (9551.2, "9,551"), (0.001, "0")]
)
def test_numbers_have_about_three_digits(number: float, text: str) -> None:
    assert quantities.digits(number) == text


def test_shares() -> None:
    assert (quantities.share(0.69, EN, 1), quantities.share(0.31, ZH)) == ("69.0 %", "31%")
