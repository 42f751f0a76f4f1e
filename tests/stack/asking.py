"""Questions that are asked now and answered later: each on a connection of its own, in a thread of its own."""

from __future__ import annotations

import json
import threading
from typing import Any

import redis

from deploy.local.private_stack import PrivateStack


class Asked:
    """A command under way. `answer` waits for it: decoded JSON (`raw`: as it came), or the exception that came instead."""

    def __init__(self, stack: PrivateStack, *words: Any, timeout_s: float = 30.0, instance: str | None = None, raw: bool = False) -> None:
        self._raw = raw
        self._stack = stack
        self._words = words
        self._timeout_s = timeout_s
        self._instance = instance
        self._answer: Any = None
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    @property
    def is_answered(self) -> bool:
        return not self._thread.is_alive()

    @property
    def answer(self) -> Any:
        self._thread.join(self._timeout_s + 5)
        assert self.is_answered, f"no answer to {self._words}"
        return self._answer

    def _ask(self) -> None:
        try:
            with self._stack.client(self._timeout_s, self._instance) as client:
                answer = client.execute_command(*self._words)
                if self._raw:
                    self._answer = answer
                    return
                self._answer = [json.loads(part) for part in answer] if isinstance(answer, list) else json.loads(answer)
        except redis.RedisError as error:
            self._answer = error
