"""What the processes of part `api` have to agree on. Imports nothing: some of them have Django's settings, some have not."""

from __future__ import annotations

TASKS = 50
USERS = 100
FIRST_UID = 10**12
PAYLOAD_VARIABLE = "BENCH_PAYLOAD"
"""Names the file with a real answer of the API, which the views to compare with answer too."""
EVENT = "purchase"
"""Feeds one task, which no user completes."""
THREADS_ALONE = 16
