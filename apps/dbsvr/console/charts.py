"""The charts of the Overview: which figures, in which order, in which colour. What they draw is read in `histories`.

A chart's series are columns of `sample`, or one column of `server_sample` with one series a server. Colours are names of the style
sheet's variables. The order of reasons is fixed: blues are the price of the promise, orange and red are trouble, grey is by choice.
"""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

STACKED, LINES = "stacked", "lines"


class Series(NamedTuple):
    key: str
    label: Text
    colour: str
    columns: tuple[str, ...]
    """Added up. Unknown when one of them is."""
    dash: str = ""
    about: Text = ""


class Chart(NamedTuple):
    key: str
    title: Text
    unit: Text
    caption: Text
    about: Text
    kind: str
    series: tuple[Series, ...] = ()
    server_column: str = ""
    """Instead of `series`: one series for each server that has this column."""
    scale: float = 1.0
    limit: float | None = None
    at_least: float = 0.0
    """The y axis reaches at least here."""
    wide: bool = False


READS_BY_SERVER = Chart(
    "reads-by-server",
    _("Reads by server"),
    _("reads/s"),
    _("reads per second"),
    _(
        "Who answered the reads. The more the replicas answer, the cheaper the system is. In percent this is the master/slave read ratio: "
        "the lowest area is the master's share."
    ),
    STACKED,
    server_column="reads",
    wide=True,
)
READS_BY_REASON = Chart(
    "master-reads-by-reason",
    _("Master reads by reason"),
    _("reads/s"),
    _("reads per second"),
    _("Why the master answered reads. Blue is the price of the promise, orange and red are trouble, grey is by choice."),
    STACKED,
    (
        Series(
            "recent_write",
            _("own write not yet there"),
            "reason-recent-write",
            ("reason_recent_write",),
            about=_("The user wrote a moment ago, and no replica has it yet."),
        ),
        Series(
            "in_flight",
            _("write in flight"),
            "reason-in-flight",
            ("reason_in_flight",),
            about=_("A write of this user was not yet decided when the read came."),
        ),
        Series(
            "spill",
            _("spill"),
            "reason-spill",
            ("reason_spill",),
            about=_("Replicas were busy and the master had room, so it helped out."),
        ),
        Series(
            "replica_lag",
            _("replica late"),
            "reason-replica-lag",
            ("reason_replica_lag", "reason_handed_back"),
            about=_("Replicas are behind by more than usual, or one handed a read back because its snapshot was too old."),
        ),
        Series(
            "replica_down", _("replica away"), "reason-replica-down", ("reason_replica_down",), about=_("No replica was there to answer.")
        ),
        Series(
            "aged", _("waited too long"), "reason-aged", ("reason_aged",), about=_("The read had waited for longer than the age limit.")
        ),
        Series(
            "fresh_start",
            _("DBSvr just started"),
            "reason-fresh-start",
            ("reason_fresh_start",),
            about=_("Until its first tick a DBSvr knows nothing of earlier writes."),
        ),
        Series(
            "not_owner",
            _("another DBSvr's user"),
            "reason-not-owner",
            ("reason_not_owner",),
            about=_("A client came for a user whom another DBSvr owns: it cannot reach the owner, or has not heard of him."),
        ),
    ),
)
LAG = Chart(
    "replica-lag",
    _("Replica lag"),
    _("s"),
    _("seconds behind the master's tick, worst of each step"),
    _("How far each replica is behind. It harms nobody: users whose writes are not there yet are answered by the master."),
    LINES,
    server_column="lag_ms",
    scale=0.001,
    limit=5.0,
    at_least=6.0,
)
OLDEST = Chart(
    "oldest-waiting",
    _("Oldest waiting"),
    _("ms"),
    _("milliseconds that the oldest request waits, worst of each step"),
    _("How long the oldest read and the oldest write wait in their queues."),
    LINES,
    (
        Series("query", _("reads"), "line-1", ("query_oldest_ms",)),
        Series("finish", _("writes"), "line-2", ("finish_oldest_ms",), dash="long"),
    ),
    at_least=10.0,
)
WAITING = Chart(
    "waiting",
    _("Queue depth"),
    _("requests"),
    _("requests waiting in each queue, most of each step"),
    _("Tickets in the three queues and requests that the front still holds for them. Deletions wait until nothing else does."),
    LINES,
    (
        Series("query", _("query: reads"), "line-1", ("query_waiting",)),
        Series("finish", _("finish: writes"), "line-2", ("finish_waiting",), dash="long"),
        Series("clear", _("clear: deletions"), "line-3", ("clear_waiting",), dash="short"),
    ),
    at_least=10.0,
)
THROUGHPUT = Chart(
    "throughput",
    _("Throughput"),
    _("requests/s"),
    _("requests answered per second"),
    _("Reads, writes and deletions that were answered."),
    LINES,
    (
        Series("reads", _("reads"), "line-1", ("reads",)),
        Series("writes", _("writes"), "line-2", ("writes",), dash="long"),
        Series("clears", _("deletions"), "line-3", ("clears",), dash="short"),
    ),
    at_least=10.0,
)
LATENCY = Chart(
    "latency",
    _("Answer time"),
    _("ms"),
    _("milliseconds from a request to its answer, p99 the worst of each step"),
    _("Half of all requests are answered within p50, 99 of 100 within p99, measured in the DBSvr."),
    LINES,
    (
        Series("read_p50", _("read p50"), "line-1", ("read_p50_ms",)),
        Series("read_p99", _("read p99"), "line-1", ("read_p99_ms",), dash="short"),
        Series("write_p50", _("write p50"), "line-2", ("write_p50_ms",), dash="long"),
        Series("write_p99", _("write p99"), "line-2", ("write_p99_ms",), dash="dot"),
    ),
    at_least=5.0,
)

OVERVIEW = (READS_BY_SERVER, READS_BY_REASON, LAG, OLDEST, WAITING, THROUGHPUT, LATENCY)
BY_KEY = {chart.key: chart for chart in OVERVIEW}

SERVER_DASHES = ("", "", "long", "short", "dot")


def server_series(servers: list[str]) -> list[Series]:
    """One series a server. The master keeps its colour, and replicas theirs by their place in the list."""
    replicas = [name for name in servers if name != "master"]
    found = [Series("master", _("master"), "server-master", ())] if "master" in servers else []
    for place, name in enumerate(replicas):
        colour = f"server-r{place % 3 + 1}"
        found.append(Series(name, name, colour, (), SERVER_DASHES[min(place + 1, 4)]))
    return found
