"""What every home must do with images: each kept once, as it is, for as long as a record refers to it (laws 1 and 2)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from making import add_text, trace

from memos.errors import InvalidInput
from memos.memory.image import Image
from memos.memory.model import Memory, Status
from memos.storage.ports import CubeStore

PICTURE = Image(bytes(range(256)) * 40, "image/png")
REFERENCE = f"sha256:{hashlib.sha256(PICTURE.data).hexdigest()}"


async def keep(store: CubeStore, memory: Memory, image: Image = PICTURE, reference: str = REFERENCE) -> None:
    await store.write(lambda tx: tx.keep_image(memory.id, reference, image))


class Images:
    """Subclasses give a fixture `store`: an empty cube."""

    async def test_an_image_comes_back_as_it_was(self, store: CubeStore) -> None:
        assert await store.image(REFERENCE) is None
        await keep(store, await add_text(store, "one"))
        assert await store.image(REFERENCE) == PICTURE
        assert await store.image(REFERENCE.removeprefix("sha256:")) == PICTURE
        with pytest.raises(InvalidInput):
            await store.image("sha256:1")

    async def test_it_is_kept_once_and_goes_with_the_last_record(self, store: CubeStore) -> None:
        first, second = await add_text(store, "one"), await add_text(store, "two")
        for memory in (first, second, second):
            await keep(store, memory)
        stats = await store.stats()
        assert (stats.images, stats.image_bytes) == (1, len(PICTURE.data))
        assert (await store.write(lambda tx: tx.purge([first.id]))).images == 0
        assert await store.image(REFERENCE) == PICTURE
        assert (await store.write(lambda tx: tx.purge([second.id]))).images == 1
        assert (await store.image(REFERENCE), (await store.stats()).images) == (None, 0)

    async def test_it_is_hidden_while_its_records_are_taken_back(self, store: CubeStore) -> None:
        memory = await add_text(store, "one")
        await keep(store, memory)
        await store.write(lambda tx: tx.put(_with(tx.get(memory.id), Status.RETRACTED), "retract"))
        assert await store.image(REFERENCE) is None
        await store.write(lambda tx: tx.put(_with(tx.get(memory.id), Status.ACTIVE), "undo"))
        assert await store.image(REFERENCE) == PICTURE

    async def test_a_change_that_fails_keeps_no_image(self, store: CubeStore) -> None:
        memory = trace("one")

        def fails(tx: Any) -> None:
            tx.put(memory)
            tx.keep_image(memory.id, REFERENCE, PICTURE)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await store.write(fails)
        assert (await store.stats()).images == 0


def _with(memory: Memory | None, status: Status) -> Memory:
    assert memory is not None
    return replace(memory, status=status)
