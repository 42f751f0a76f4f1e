"""What a case explores: how much may happen, and which rules of the cache layer are kept.

Pure values. A case that breaks one rule differs from one that must hold by a single `False`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """The configuration and its budgets: how often each thing may happen, at any moment and in any order."""

    nodes: int = 2
    events: tuple[str, ...] = ("e1", "e2")
    sent_from: tuple[tuple[int, ...], ...] = ()
    """For each event, the nodes beside which it may be sent; empty: any. Keeps a large configuration small."""
    copies_at: tuple[int, ...] = ()
    """The nodes that hold a copy when it begins, and stand on the trail. Instead of a read, where its way does not matter."""
    reads: int = 1
    read_at: tuple[int, ...] = ()
    """The nodes at which reads may miss; empty: any."""
    repeats: int = 0
    """A client sends an event again that it has no answer to: through any logic node, also while the first request lives."""
    deaths: int = 0
    """A logic node dies, or gives up, with a write that it has not answered."""
    cuts: int = 0
    """A cache node is out of reach of writers and center, for readers it is not; until that ends."""
    evictions: bool = False
    """Copies and tokens vanish at any time. It is also all that a purge does which comes twice, late, or out of order."""
    front_ends: int = 0
    """The front is killed; the next one knows no trail."""
    takeovers: int = 0
    """Another DBSvr takes the user over; the former owner may not know it yet, and goes on reading."""
    former_reads: int = 0
    """Reads that go to the former owner."""
    forgets: int = 0
    """The front drops the user's trail to make room."""
    rises: int = 0
    """The generation rises; the last commit is lost, or is not."""
    removals: int = 0
    """A cache node is removed, and may be added again with what it held."""
    restarts: int = 0
    """A cache node is killed and started again; it may have saved its copy before."""
    reader_is_blind: bool = False
    """Some web process can not look for purges."""
    time_passes: bool = False
    """After a lost trail: the copies' life and a request's deadline."""


@dataclass(frozen=True)
class Rules:
    """The rules of the cache layer, each named for what it says; all are kept unless a case breaks one."""

    # INV 8
    not_storable_beside_a_write_in_flight: bool = True
    not_storable_after_a_write_was_accepted: bool = True
    storable_only_from_the_owner: bool = True
    fill_needs_its_token: bool = True
    purge_takes_tokens: bool = True
    store_only_over_an_older_copy: bool = True
    one_token_at_a_time: bool = True
    # INV 9
    record_before_the_read: bool = True
    rows_in_the_transaction: bool = True
    keep_nodes_that_come_meanwhile: bool = True
    answer_names_all_pending: bool = True
    answer_names_the_own_node: bool = True
    """Where a purge of the asker's node is pending."""
    purge_before_the_answer: bool = True
    settle: bool = True
    settle_takes_tokens: bool = True
    settle_replaces_only_its_base: bool = True
    settle_creates_none: bool = True
    settle_keeps_the_life: bool = True
    own_row_when_not_confirmed: bool = True
    repeat_keeps_the_trail: bool = True
    repeat_purges_the_trail: bool = True
    repeat_is_not_written_through: bool = True
    # INV 10
    lost_trail_means_every_node: bool = True
    lost_until_no_token_is_left: bool = True
    # INV 11
    serve_nothing_past_grace: bool = True
    close_only_what_is_confirmed: bool = True
    use_only_after_a_look: bool = True
    restarted_node_is_empty: bool = True
    added_node_is_flushed: bool = True
    # generations
    flush_when_the_generation_rises: bool = True
    compare_generations_first: bool = True
