"""What a case explores: how much may happen, and which rules of the protocol are kept.

Pure values. A case that breaks one rule differs from one that must hold by a single `False`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """The configuration and its budgets: how often each thing may happen, at any moment and in any order."""

    replicas: int = 2
    events: tuple[str, ...] = ("e1", "e2")
    reads: int = 2
    worker_ends: int = 0
    """The master's worker is killed, or freezes, is given up, and may go on later."""
    front_ends: int = 0
    timeouts: int = 0
    """A client gives up waiting for its write's answer."""
    repeats: int = 0
    """A client sends an event again that it has no answer to."""
    drops: int = 0
    """The front drops a stamp."""
    replica_restores: int = 0
    promotions: int = 0
    """The master is lost; a replica, of whatever lag, takes its place."""
    returns: int = 0
    """The former master is back while the promoted one is out of reach; until that ends."""
    master_restores: int = 0
    """The master's data are set back to an earlier state."""
    may_share: bool = False
    """Reads may share the query of one that waits."""
    may_group: bool = False
    """Reads may travel in groups with other users'."""
    knows: bool = False
    """A replica's worker answers what it has read before where the user's version is the same; it stays when the replica is replaced."""
    receive_apart: bool = False
    """A replica's worker receives a read in one step and queries in another."""
    answer_apart: bool = False
    """Answers travel: a query in one step, its end at the client in another."""
    stops_past_the_fork: bool = False
    """Replication stops at a replica that has gone past a fork, for good."""
    restore_is_known: bool = True
    """Assumption: a restored master lacks a commit that the front knows of."""
    looked_at_the_fork: bool = True
    """Assumption: a replica that has gone past a fork is looked at before it applies what comes after the fork."""
    in_commit_order: bool = True
    """Assumption: replicas apply in commit order."""
    master_first: bool = True
    """Assumption: no replica shows what the master does not show yet."""


@dataclass(frozen=True)
class Rules:
    """The rules of the protocol, each named for what it says; all are kept unless a case breaks one."""

    acknowledge_after_commit: bool = True
    stamp_before_answer: bool = True
    mark_in_flight: bool = True
    share_only_at_or_above_own_stamp: bool = True
    share_only_before_the_query: bool = True
    group_at_the_largest_stamp: bool = True
    commit_a_fresh_tick: bool = True
    marks_stay_until_the_fresh_tick: bool = True
    raise_stamps_of_undecided: bool = True
    fence_by_epoch: bool = True
    fence_in_the_block: bool = True
    """The master itself leaves a block before its COMMIT when the bump has found no row."""
    ignore_older_runs: bool = True
    dropped_stamp_raises_floor: bool = True
    prove_by_snapshot: bool = True
    hold_known_against_version: bool = True
    forget_known_with_the_generation: bool = True
    check_event_ids: bool = True
    new_generation_at_promotion: bool = True
    new_generation_when_ticks_go_back: bool = True
    hear_the_replicas_first: bool = True
    keep_the_look_before_a_newer_generation: bool = True
    refuse_a_former_master: bool = True
    refuse_past_the_fork: bool = True
    take_only_answers_of_this_generation: bool = True
