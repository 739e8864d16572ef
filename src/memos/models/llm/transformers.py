"""A chat model that runs in this process, by the package transformers (extra `transformers`; brings torch).

The model must be on this machine already: nothing is downloaded. Loaded at the first call; one call at a time, on a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

from memos.errors import ModelError, ModelTimeout, ModelUnavailable
from memos.models.llm.assembly import Assembly
from memos.models.llm.dialect import Said
from memos.models.llm.port import ChatReply, ChatRequest, Piece, TokenUsage
from memos.models.llm.schema import in_words

_TOKENS = 1_024  # of an answer, when the caller does not say


class TransformersChatModel:
    """A model by its name in the cache of the Hugging Face hub, or by its folder."""

    holds_to_schema = True  # in words

    def __init__(self, model: str, *, timeout: float = 60.0, device: str | None = None) -> None:
        """Load nothing yet. `timeout`: seconds for one piece. `device`: torch's name for where to run, by default its choice."""
        self._name, self._timeout, self._device = model, timeout, device
        self._turn = threading.Lock()

    @property
    def model_id(self) -> str:
        """`transformers:MODEL`."""
        return f"transformers:{self._name}"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        reply: ChatReply | None = None
        pieces = self.stream(request)
        try:
            async for piece in pieces:
                reply = piece.reply or reply
        finally:
            await pieces.aclose()
        assert reply is not None, "a stream that ends without an error ends with its reply"
        return reply

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`."""
        run = _Run(self, in_words(request))
        assembly = Assembly()
        try:
            async for said in run.said():
                for piece in assembly.add(said):
                    yield piece
        finally:
            run.stop.set()
        for piece in assembly.rest():
            yield piece
        yield Piece(reply=assembly.reply(request, self._name))

    @cached_property
    def loaded(self) -> tuple[Any, Any, Any]:
        """(package, tokenizer, model). Raises ModelUnavailable."""
        try:
            package = import_module("transformers")
            import_module("torch")
        except ImportError as error:
            raise ModelUnavailable(
                "the package transformers is not installed; "
                "install the extra 'transformers': pip install '.[transformers]' in a checkout of MemOS"
            ) from error
        try:
            tokenizer = package.AutoTokenizer.from_pretrained(self._name, local_files_only=True)
            model = package.AutoModelForCausalLM.from_pretrained(self._name, local_files_only=True, dtype="auto")
        except (OSError, ValueError) as error:
            raise ModelUnavailable(
                f"the model {self._name!r} is not on this machine; get it with `hf download {self._name}`, "
                "or give the folder it is in"
            ) from error
        return package, tokenizer, model.to(self._device) if self._device else model

    def pieces(self, request: ChatRequest, stop: threading.Event) -> Iterator[Said]:
        """What the model says, piece by piece, on the calling thread. Ends early when `stop` is set."""
        package, tokenizer, model = self.loaded
        yield Said()
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        inputs = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(model.device)
        length = int(inputs["input_ids"].shape[-1])
        streamer = package.TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
        most = request.max_tokens or _TOKENS
        options: dict[str, Any] = {"max_new_tokens": most, "streamer": streamer, "do_sample": bool(request.temperature)}
        if request.temperature:
            options |= {"temperature": request.temperature, **({"top_p": request.top_p} if request.top_p else {})}
        options["stopping_criteria"] = package.StoppingCriteriaList([lambda *_, **__: stop.is_set()])
        failed: list[BaseException] = []
        made: list[int] = []

        def generate() -> None:
            try:
                made.append(int(model.generate(**inputs, **options).shape[-1]) - length)
            except Exception as error:  # noqa: BLE001 - told by who reads the pieces
                failed.append(error)
                streamer.end()

        maker = threading.Thread(target=generate, daemon=True)
        maker.start()
        for text in streamer:
            yield Said(text)
        maker.join()
        if failed:
            raise ModelError(f"{self.model_id} raised {type(failed[0]).__name__}") from failed[0]
        count = made[0] if made else 0
        yield Said(finish="length" if count >= most else "stop", usage=TokenUsage(length, count), done=True)

    @property
    def turn(self) -> threading.Lock:
        """One call at a time."""
        return self._turn

    @property
    def timeout(self) -> float:
        """Seconds for one piece."""
        return self._timeout


class _Run:
    """One call on its thread, whose pieces are awaited on the event loop."""

    def __init__(self, model: TransformersChatModel, request: ChatRequest) -> None:
        self._model, self._request = model, request
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Said | BaseException | None] = asyncio.Queue()
        self.stop = threading.Event()

    async def said(self) -> AsyncGenerator[Said, None]:
        """What the model says, as it says it."""
        threading.Thread(target=self._work, daemon=True).start()
        seconds: float | None = None  # until it is this call's turn and the model is loaded, however long that takes
        while True:
            try:
                async with asyncio.timeout(seconds):
                    said = await self._queue.get()
                seconds = self._model.timeout
            except TimeoutError:
                raise ModelTimeout(
                    f"{self._model.model_id} said nothing for {self._model.timeout:g} s; set MEMOS_LLM_TIMEOUT for a slow machine"
                ) from None
            if said is None:
                return
            if isinstance(said, BaseException):
                raise said
            yield said

    def _work(self) -> None:
        with self._model.turn:
            try:
                if not self.stop.is_set():
                    for said in self._model.pieces(self._request, self.stop):
                        self._tell(said)
                self._tell(None)
            except ModelError as error:
                self._tell(error)
            except Exception as error:  # noqa: BLE001 - a model of the user's, and nobody reads this thread's errors
                told = ModelError(f"{self._model.model_id} raised {type(error).__name__}: {error}")
                told.__cause__ = error
                self._tell(told)

    def _tell(self, said: Said | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop ended before its answer
            self._loop.call_soon_threadsafe(self._queue.put_nowait, said)
