"""Reproducible measurements: recall, speed, durability. See `python -m memos.bench --help`."""
