"""The REST API for logic servers. Views parse, call one service or selector, and answer."""
