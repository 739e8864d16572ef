"""Calls of a model written down, and answered again from the file: for tests and demonstrations without a model.

One JSON object a line: a hash of the request, and the reply or the error. Keys and prompts are not in it; answers are.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from memos.errors import InvalidInput, ModelBusy, ModelError, ModelTimeout, ModelUnavailable
from memos.models.llm.port import ChatModel, ChatReply, ChatRequest, Finish, Piece, TokenUsage

_PIECE = 16  # characters of a replayed stream's pieces
_FINISH: dict[str, Finish] = {finish: finish for finish in get_args(Finish)}
_ERRORS: dict[str, type[ModelError]] = {
    kind.code: kind for kind in (ModelError, ModelUnavailable, ModelTimeout, ModelBusy)
}


def key_of(request: ChatRequest) -> str:
    """What a request is found again by: everything in it, whichever model it goes to."""
    asked = json.dumps(asdict(request), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class RecordingModel:
    """Asks a model, and writes down what it answers at the end of a file."""

    def __init__(self, inner: ChatModel, path: str | Path) -> None:
        self._inner, self._path = inner, Path(path)
        self._lock = threading.Lock()
        self.holds_to_schema = getattr(inner, "holds_to_schema", False)

    @property
    def model_id(self) -> str:
        """See `ChatModel.model_id`."""
        return self._inner.model_id

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        try:
            reply = await self._inner.complete(request)
        except ModelError as error:
            await self._write(request, _error(error))
            raise
        await self._write(request, {"reply": asdict(reply)})
        return reply

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`. A stream that is left before its end is not written down."""
        pieces = self._inner.stream(request)
        try:
            async for piece in pieces:
                if piece.reply is not None:
                    await self._write(request, {"reply": asdict(piece.reply)})
                yield piece
        except ModelError as error:
            await self._write(request, _error(error))
            raise
        finally:
            await pieces.aclose()

    async def aclose(self) -> None:
        """Close the model."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()

    async def _write(self, request: ChatRequest, what: dict[str, Any]) -> None:
        line = json.dumps({"key": key_of(request), "model": self.model_id, **what}, ensure_ascii=False) + "\n"
        await asyncio.to_thread(self._append, line.encode("utf-8", "replace"))

    def _append(self, line: bytes) -> None:
        with self._lock:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)


class ReplayModel:
    """Answers what was written down. The same request gets its answers in their order, then the last one again."""

    holds_to_schema = True  # a request must be as it was when it was recorded

    def __init__(self, path: str | Path) -> None:
        """Read the file. Raises InvalidInput when it cannot be read, or is no recording."""
        self._path = Path(path)
        self._answers: dict[str, deque[ChatReply | ModelError]] = {}
        self._name = ""
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InvalidInput(f"the recording {str(path)!r} cannot be read: {error}") from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._take(number, line)

    @property
    def model_id(self) -> str:
        """The name of the recorded model."""
        return self._name or "replay:nothing"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`. Raises ModelUnavailable for a request that was not recorded."""
        key = key_of(request)
        answers = self._answers.get(key)
        if answers is None:
            raise ModelUnavailable(
                f"no answer to this request ({key[:8]}…) is in {str(self._path)!r}, which has those to {len(self._answers)}; "
                "record it again with RecordingModel"
            )
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        if isinstance(answer, ModelError):
            raise answer
        return answer

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`."""
        reply = await self.complete(request)
        for start in range(0, len(reply.reasoning), _PIECE):
            yield Piece(reasoning=reply.reasoning[start : start + _PIECE])
        for start in range(0, len(reply.text), _PIECE):
            yield Piece(reply.text[start : start + _PIECE])
        yield Piece(reply=reply)

    def _take(self, number: int, line: str) -> None:
        try:
            row = json.loads(line)
            answer = _reply(row["reply"]) if "reply" in row else _raised(row)
            self._answers.setdefault(str(row["key"]), deque()).append(answer)
            self._name = self._name or str(row["model"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidInput(f"line {number} of {str(self._path)!r} is no recorded call") from None


def _error(error: ModelError) -> dict[str, Any]:
    return {"error": error.code, "message": str(error), "retry_after": getattr(error, "retry_after", None)}


def _raised(row: dict[str, Any]) -> ModelError:
    kind = _ERRORS.get(row["error"], ModelError)
    if kind is ModelBusy:
        return ModelBusy(str(row["message"]), float(row.get("retry_after") or 1.0))
    return kind(str(row["message"]))


def _reply(row: dict[str, Any]) -> ChatReply:
    usage = row["usage"]
    used = TokenUsage(int(usage["input_tokens"]), int(usage["output_tokens"]), bool(usage["estimated"]))
    return ChatReply(
        str(row["text"]), str(row["reasoning"]), _FINISH.get(row["finish"], "other"), used, str(row["model"])
    )
