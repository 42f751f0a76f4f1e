"""Why something could not be compared: one class for each cause. The sentence is the message; an operator reads it on the run's page."""

from __future__ import annotations


class CannotCompare(Exception):
    """`retryable`: the same may work in a moment."""

    retryable = False


class ConnectionLost(CannotCompare):
    """A server cannot be reached, or went away in the midst of a statement."""

    retryable = True


class NoTable(CannotCompare):
    """The table is not there."""


class NoPermission(CannotCompare):
    """The reading account may not."""


class NotAlike(CannotCompare):
    """The two servers mean different things by the table, or it has no key, or a column that cannot be compared."""


class ReplicaStands(CannotCompare):
    """The replica does not move: replication is stopped, or the master's tick stands still."""


class TooMany(CannotCompare):
    """So much differs that single keys say nothing any more."""


class StatementFailed(CannotCompare):
    """A server refused a statement for another reason."""
