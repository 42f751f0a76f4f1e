"""A crowd of readers of one user, as a process of its own: `python -m tests.stack.crowd uid threads`.

Reads another user first, so that all connections are open; says "ready", waits for a line on its standard input, lets all threads read
at once and prints what they were answered: a version each.
"""

from __future__ import annotations

import os
import sys
import threading

WARM_UID = 1_000_001


def main(uid: int, threads: int) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tasksys_site.settings"
    import django

    django.setup()
    from apps.cachesync.task_interface import task_interface

    tasks = task_interface()
    tasks.get(WARM_UID)
    together = threading.Barrier(threads + 1)
    versions: list[int] = []

    def read() -> None:
        together.wait()
        versions.append(tasks.get(uid).version)

    crowd = [threading.Thread(target=read) for _ in range(threads)]
    for thread in crowd:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    together.wait()
    for thread in crowd:
        thread.join()
    print(" ".join(map(str, versions)), flush=True)
    tasks.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
