"""Fine reading: what a language model understands in a run of traces, checked against what was said.

Pure functions and calls of a `ChatModel`; who stores what they find is elsewhere.
"""

from memos.reading.fine.prompt import ReadingOptions
from memos.reading.fine.read import read_segment, reader_name
from memos.reading.fine.segments import LIMIT_TOKENS, Segment, segments

__all__ = ["LIMIT_TOKENS", "ReadingOptions", "Segment", "read_segment", "reader_name", "segments"]
