"""The consistency checker: clients against the real stack under faults, their history recorded and judged."""
