"""The strip "Five minutes" for who sees the demo stack for the first time. Each step ticks itself when its effect is seen."""

from __future__ import annotations

import time
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dbsvr import samples
from apps.dbsvr.console.present import ProcessRow
from apps.dbsvr.console.task_list import live_task_count
from apps.dbsvr.quantities import lag
from apps.dbsvr.replica_rules import IDLE
from apps.dbsvr.state import State
from tasksys_site.configuration import load

STALLED_MS = 5_000
DEMO_USERS = (10**12 + 42, 10**9 + 42)
"""One of each half of the users; deploy.local.demo_users has put them in."""


class StepShown(NamedTuple):
    key: str
    done: bool
    text: str
    command: str = ""


def steps(state: State, instance: str, processes: list[ProcessRow], language: str) -> list[StepShown]:
    now = state.instances.get(instance)
    it = now.figures if now else None
    running = sum(process.well == "yes" for process in processes)
    lags = {name: replica.lag_ms for name, replica in sorted(it.replicas.items()) if replica.state not in IDLE} if it else {}
    first = next(iter(lags), "r1")
    behind = lags.get(first)
    tasks = live_task_count(time.time())
    dbsvr = load().dbsvr
    port = dbsvr.instances[instance].port
    user = next((uid for uid in DEMO_USERS if dbsvr.home_of(uid) == instance), DEMO_USERS[0])
    return [
        StepShown(
            "processes",
            running == len(processes),
            _("all %(count)s kinds of process run") % {"count": len(processes)}
            if running == len(processes)
            else _("%(running)s of %(count)s kinds of process run") % {"running": running, "count": len(processes)},
        ),
        StepShown(
            "replica",
            behind is not None and behind < 1000,
            _("replica %(replica)s in step (%(lag)s)") % {"replica": first, "lag": "?" if behind is None else lag(behind, language)},
        ),
        StepShown("tasks", tasks > 0, ngettext("%(count)s task live", "%(count)s tasks live", tasks) % {"count": tasks}),
        StepShown("read", bool(it and it.reads_total), _("make a read:"), f"redis-cli -p {port} TASK.GET {user} node-1"),
        StepShown(
            "stall",
            # Stays ticked for an hour: who looks up from the terminal a little late has not missed it.
            (samples.worst_lag_ms(instance, int(time.time()) - 3600) or 0.0) >= STALLED_MS,
            _("put it under load, stall the replica for 20 s, and watch the light say why:"),
            "make demo",
        ),
    ]
