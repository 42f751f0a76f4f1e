-- Event ids are known by their key alone. An index by day cost every write 4 us on the master and 3 on each replica; who sweeps old events
-- walks the primary key in pieces, once a day, and finds those of a page together (docs/decisions/0021).

ALTER TABLE applied_event DROP KEY applied_event_day;
