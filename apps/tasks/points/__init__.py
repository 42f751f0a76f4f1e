"""Delivering points: from the rows of `grant_outbox` to the external points system. docs/points.md has the contract and the states."""
