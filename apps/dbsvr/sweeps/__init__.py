"""Sweeps: once a day each table that only grows is walked in pieces, and rows that nobody needs any more are deleted.

docs/operations.md#old-rows says what is deleted when, docs/decisions/0023 why this way.
"""
