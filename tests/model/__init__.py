"""The model of the consistency protocol: every order of events in small configurations, and what it does to the promises.

`python -m tests.model [part of a name]` explores the cases of `cases.py`; docs/protocol.md says what they stand for.
"""
