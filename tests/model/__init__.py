"""An explorer of the consistency protocol: every order of events of a small configuration, and what it does to the promises.

`python -m tests.model [part of a name]` explores the cases of `cases.py`; docs/protocol.md says what they stand for.
"""
