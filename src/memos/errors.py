"""Every error a caller can meet, as one small tree. The message says what was wrong, with which value, and what to
do.
"""

from __future__ import annotations


class MemosError(Exception):
    """Base of all errors raised on purpose. `code` is stable and machine-readable."""

    code = "error"


class InvalidInput(MemosError, ValueError):
    """The caller's argument cannot be used; nothing was stored."""

    code = "invalid_input"


class InvalidFilter(InvalidInput):
    """A filter names an unknown field or operator, or compares things that cannot be compared."""

    code = "invalid_filter"


class UnknownFileType(InvalidInput):
    """A file of a kind that cannot be read; the message names those that can."""

    code = "unknown_file_type"


class UnreadableFile(InvalidInput):
    """A file is damaged, protected by a password, or holds no text; nothing was stored."""

    code = "unreadable_file"


class FileTooLarge(InvalidInput):
    """A file, or the text in it, is larger than is read; nothing was stored."""

    code = "file_too_large"


class NotFound(MemosError, LookupError):
    """The named memory, cube, session or user does not exist (or not for this caller)."""

    code = "not_found"


class AccessDenied(MemosError, PermissionError):
    """The user has no grant for what was asked on this cube."""

    code = "access_denied"


class Conflict(MemosError):
    """The memory changed since it was read; read it again and retry."""

    code = "conflict"


class StorageError(MemosError):
    """The store could not do it; what was acknowledged before is still safe."""

    code = "storage"


class StorageFull(StorageError):
    """The disk is full; the write was not accepted and nothing was changed."""

    code = "storage_full"


class StorageReadOnly(StorageError):
    """The file cannot be written (permissions or a read-only file system); reads still work."""

    code = "storage_read_only"


class StorageDamaged(StorageError):
    """The file is not a cube, or its pages are damaged."""

    code = "storage_damaged"


class StorageBusy(StorageError):
    """Another process held the write lock longer than the busy timeout; try again."""

    code = "storage_busy"


class SchemaTooNew(StorageError):
    """The file was written by a newer version of MemOS; upgrade the library to open it."""

    code = "schema_too_new"


class ArchiveError(MemosError):
    """An archive to import is damaged, incomplete or hostile; nothing was imported."""

    code = "archive"


class ModelError(MemosError):
    """A model (embedder, reranker, LLM) failed or is not available; the call is answered without it where possible."""

    code = "model"


class ModelUnavailable(ModelError):
    """The model's package, weights or server are missing. The message names what to install or start."""

    code = "model_unavailable"


class ModelTimeout(ModelError):
    """The model did not answer in time."""

    code = "model_timeout"


class ModelBusy(ModelUnavailable):
    """The model's server has too much to do (429); try again after `retry_after` seconds."""

    code = "model_busy"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DimensionMismatch(ModelError):
    """An embedder returned vectors of another length than it declared."""

    code = "dimension_mismatch"


class Unauthorized(MemosError):
    """No API key, or one that is unknown, expired or revoked."""

    code = "unauthorized"


class Busy(MemosError):
    """Too much is waiting or too many calls were made; nothing was stored. Try again after `retry_after` seconds."""

    code = "busy"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OverBudget(ModelBusy, Busy):
    """A user has used the tokens that `llm_tokens_per_user_per_day` gives her; again after `retry_after` seconds, when the next
    day (of UTC) begins. The model was not asked.
    """

    code = "over_budget"


class LeaseLost(MemosError):
    """The worker held its tasks longer than its lease, and another has them now; what it did must not be counted."""

    code = "lease_lost"


class Unavailable(MemosError):
    """A part of the system that this needs is not configured or not reachable. The message says what to set or start."""

    code = "unavailable"


class TimedOut(Unavailable, TimeoutError):
    """The server did not answer in time. What was asked may have been done; where that matters, the message says so."""

    code = "timeout"


# What reading a text that nobody foresaw may raise, a defect of ours too: it is logged and counted, and the others go on.
UNFORESEEN: tuple[type[Exception], ...] = (
    *(MemosError, ValueError, LookupError, TypeError, AttributeError, AssertionError),
    *(RecursionError, ArithmeticError),  # a date that no calendar has is an OverflowError
)
