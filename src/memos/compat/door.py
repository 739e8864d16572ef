"""Moved to `memos.door`."""

from memos.door import PAGE, Door, plain

__all__ = ["PAGE", "Door", "plain"]
