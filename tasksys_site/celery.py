"""The Celery app: its broker, its queues, its beat.

Loaded by an AppConfig, never by `tasksys_site/__init__`: the DBSvr's processes import that package and know nothing of Django.
Tasks are named by string, so that a sender needs no import of what does the work. A broker that does not answer costs a sender
a second, not its request.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksys_site.settings")

# Celery reads the variable when it is imported.
from celery import Celery
from celery.schedules import crontab

from tasksys_site.configuration import in_project, load

ROLL_UP, DELETE_OLD, CANARY = "apps.dbsvr.roll_up", "apps.dbsvr.delete_old_samples", "apps.dbsvr.canary_round"

PURGE_NOW, SWEEP, PURGE_NODE, PURGE_EVERYWHERE, PROBE_NODES, CHECK_COPIES, DELETE_OLD_CHECKS = (
    f"apps.cachesync.tasks.{name}"
    for name in ("purge_now", "sweep", "purge_node", "purge_everywhere", "probe_nodes", "check_copies", "delete_old_checks")
)
DIFF_WORK, DIFF_RECHECK, DIFF_SCHEDULE, DIFF_DELETE_OLD = (
    f"apps.dbsvr.diff.{name}" for name in ("work", "recheck", "schedule", "delete_old")
)
SWEEP_EVENTS = "apps.dbsvr.sweeps.sweep_events"
FIRE_DUE, CLEAR_SESSIONS = (f"apps.tasks.tasks.{name}" for name in ("fire_due", "clear_sessions"))
DELIVER_POINTS, RECONCILE_POINTS, DELETE_OLD_DRAINS, SWEEP_GRANTS = (
    f"apps.tasks.points.tasks.{name}" for name in ("deliver", "reconcile_days", "delete_old_drains", "sweep_grants")
)

configuration = load()
_timeouts = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0, "retry_on_timeout": False}

app = Celery("tasksys")
app.conf.update(
    broker_url=configuration.broker.url,
    broker_transport_options={**_timeouts, "visibility_timeout": 60},
    broker_connection_timeout=1.0,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # a worker waits for its broker as long as it takes
    task_publish_retry=False,
    task_ignore_result=True,
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    timezone="UTC",
    task_default_queue="sample",
    task_routes={
        # Comparing replicas takes its time: a worker of its own. Before the pattern that would take it, too.
        "apps.dbsvr.diff.*": {"queue": "diff"},
        # So does deleting old rows.
        "apps.dbsvr.sweeps.*": {"queue": "diff"},
        SWEEP_GRANTS: {"queue": "diff"},
        "apps.dbsvr.*": {"queue": "sample"},
        # Points wait for another system, which may be slow: they have a worker of their own.
        "apps.tasks.points.*": {"queue": "points"},
        "apps.tasks.*": {"queue": "sample"},
        CHECK_COPIES: {"queue": "sample"},
        DELETE_OLD_CHECKS: {"queue": "sample"},
        # Purges have a worker of their own: nothing else may keep them waiting.
        "apps.cachesync.*": {"queue": "purge"},
    },
    beat_schedule_filename=str(in_project(configuration.var_dir) / "celerybeat-schedule"),
    # A schedule entry that found no worker expires before its next one comes: they do not pile up.
    beat_schedule={
        "roll-up-10": {"task": ROLL_UP, "schedule": 10.0, "args": (10,), "options": {"expires": 9}},
        "roll-up-60": {"task": ROLL_UP, "schedule": 60.0, "args": (60,), "options": {"expires": 55}},
        "roll-up-600": {"task": ROLL_UP, "schedule": 600.0, "args": (600,), "options": {"expires": 500}},
        "sweep-purges": {"task": SWEEP, "schedule": 1.0, "options": {"expires": 2}},
        "probe-cache-nodes": {"task": PROBE_NODES, "schedule": 1.0, "options": {"expires": 2}},
        "check-copies": {"task": CHECK_COPIES, "schedule": 1.0, "options": {"expires": 2}},
        "fire-due-drafts": {"task": FIRE_DUE, "schedule": 1.0, "options": {"expires": 2}},
        "deliver-points": {"task": DELIVER_POINTS, "schedule": 1.0, "options": {"expires": 2}},
        "reconcile-points": {"task": RECONCILE_POINTS, "schedule": crontab(hour=1, minute=7), "options": {"expires": 3600}},
        "delete-old-drains": {"task": DELETE_OLD_DRAINS, "schedule": 300.0, "options": {"expires": 280}},
        "diff-schedule": {"task": DIFF_SCHEDULE, "schedule": 5.0, "options": {"expires": 5}},
        "delete-old-diffs": {"task": DIFF_DELETE_OLD, "schedule": 3600.0, "options": {"expires": 3000}},
        "delete-old-checks": {"task": DELETE_OLD_CHECKS, "schedule": 300.0, "options": {"expires": 280}},
        "delete-old-samples": {"task": DELETE_OLD, "schedule": 300.0, "options": {"expires": 280}},
        # They ask whether a day's round is due, or was left by a worker that was lost.
        "sweep-events": {"task": SWEEP_EVENTS, "schedule": 60.0, "options": {"expires": 55}},
        "sweep-grants": {"task": SWEEP_GRANTS, "schedule": 60.0, "options": {"expires": 55}},
        "clear-sessions": {"task": CLEAR_SESSIONS, "schedule": crontab(hour=4, minute=40), "options": {"expires": 3600}},
    },
)
if configuration.canary.users:
    app.conf.beat_schedule["canary"] = {
        "task": CANARY,
        "schedule": float(configuration.canary.every_s),
        "options": {"expires": configuration.canary.every_s - 1},
    }
app.autodiscover_tasks(["apps.dbsvr", "apps.cachesync", "apps.tasks", "apps.tasks.points"])
