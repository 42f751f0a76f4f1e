"""The model of the cache layer: copies, fill tokens, trail, purges, and whatever can happen to them, in small configurations.

docs/cache.md says what its cases stand for.
"""
