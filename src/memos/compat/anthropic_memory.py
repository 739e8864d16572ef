"""Anthropic's memory tool (`memory_20250818`) over a cube: the files that a model writes are memories.

    client.beta.messages.run_tools(model=..., messages=..., tools=[MemosMemoryTool(MemOS(), user="alice")])

Needs the extra `memos[anthropic]`. What the commands do and answer is in `memos.compat.memory_files`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from memos.compat.memory_files import Files, Refused
from memos.door import Door
from memos.errors import MemosError
from memos.memory.model import Memory

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as e:
    raise ImportError(
        "memos.compat.anthropic_memory needs Anthropic's SDK (its memory tool): pip install '.[anthropic]' in a checkout of MemOS"
    ) from e

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

Work = Callable[[], Coroutine[Any, Any, str]]


class MemosMemoryTool(BetaAbstractMemoryTool):
    """The memory tool, for `Anthropic` clients. Works with a `MemOS` or a `Client`; with an asynchronous memory, from other
    threads than that of its event loop.

    `search=True`: viewing `/memories/_search/<words>` finds files by meaning. `derive=True` has files read for facts, as
    conversations are. `hard=False`: what is deleted is taken back and stays in the history of the cube.
    """

    def __init__(
        self,
        memos: object,
        *,
        user: str | None = None,
        cube: str | None = None,
        search: bool = False,
        derive: bool = False,
        hard: bool = True,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._door = Door(memos, user, cube)
        self._files = Files(self._door, derive=derive, hard=hard, search=search)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with line numbers, or what is in a folder."""
        return self._answer(lambda: self._files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return self._answer(lambda: self._files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Put a text in the place of another in a file."""
        return self._answer(lambda: self._files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text after a line of a file."""
        return self._answer(lambda: self._files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return self._answer(lambda: self._files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return self._answer(lambda: self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Delete every file."""
        return self._answer(self._files.clear)

    def memory(self, path: str) -> Memory | None:
        """The memory that a file is a view of, to ask for its history; None where there is no such file."""
        return self._door.run(lambda: self._files.memory(path))

    def _answer(self, work: Work) -> str:
        try:
            return self._door.run(work)
        except (Refused, MemosError) as e:
            raise ToolError(str(e)) from e


class AsyncMemosMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool, for `AsyncAnthropic` clients. Works with every memory, synchronous or not. See `MemosMemoryTool`."""

    def __init__(
        self,
        memos: object,
        *,
        user: str | None = None,
        cube: str | None = None,
        search: bool = False,
        derive: bool = False,
        hard: bool = True,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._door = Door(memos, user, cube)
        self._files = Files(self._door, derive=derive, hard=hard, search=search)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with line numbers, or what is in a folder."""
        return await self._answer(lambda: self._files.view(command.path, command.view_range))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        return await self._answer(lambda: self._files.create(command.path, command.file_text))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Put a text in the place of another in a file."""
        return await self._answer(lambda: self._files.str_replace(command.path, command.old_str, command.new_str))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text after a line of a file."""
        return await self._answer(lambda: self._files.insert(command.path, command.insert_line, command.insert_text))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return await self._answer(lambda: self._files.delete(command.path))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return await self._answer(lambda: self._files.rename(command.old_path, command.new_path))

    async def clear_all_memory(self) -> str:
        """Delete every file."""
        return await self._answer(self._files.clear)

    async def memory(self, path: str) -> Memory | None:
        """The memory that a file is a view of, to ask for its history; None where there is no such file."""
        return await self._door.arun(lambda: self._files.memory(path))

    async def _answer(self, work: Work) -> str:
        try:
            return await self._door.arun(work)
        except (Refused, MemosError) as e:
            raise ToolError(str(e)) from e
