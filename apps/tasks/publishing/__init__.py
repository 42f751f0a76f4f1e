"""From a draft to a revision: drafts, reviews, publications, schedules, roll backs, the kill switch, and the record of all that.

Every function that changes something says what it was asked upon: `edition`, the state of the draft that its caller has seen. Who may
call which is decided by the views; what nobody may (approve a draft of his own, publish what was not approved) is refused here.
"""
