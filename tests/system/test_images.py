"""Images inside messages: kept verbatim, given back, exported, gone with their records; and described by a model that sees."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from llm_models import ScriptedModel
from llm_server import LlmServer, Request, busy, garbage
from memos import AsyncMemOS, MemOS
from memos.errors import ArchiveError, InvalidInput, ModelError, ModelUnavailable, NotFound
from memos.memory.message import Message, Part, PartType
from memos.memory.model import Kind, Memory
from memos.models.llm.port import ChatRequest
from memos.scheduler import worker as workers
from memos.scheduler.kinds import DESCRIBE
from memos.seeing import NotSeen
from memos.storage.tasks import TaskQuery, TaskState

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BOARD = {
    "description": "A whiteboard with a roadmap for the spring release.",
    "text": "Launch 14 March",
    "names": [{"name": "Project Heron", "type": "product"}],
}


def png(mark: bytes = b"") -> bytes:
    """A picture like no other (what stands behind its end is no part of it)."""
    return PIXEL + mark


def url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def message(*images: str, text: str = "Look at our plan.") -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": image}} for image in images]
    return {"role": "user", "content": [{"type": "text", "text": text}, *parts]}


def ref(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.01)
    monkeypatch.setattr(workers, "PUT_OFF_LEAST", 0.01)


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    """Without a model."""
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as m:
        yield m


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A server with a model that sees the whiteboard in every image."""
    with LlmServer() as made:
        made.otherwise = json.dumps(BOARD)
        yield made


def eyes(home: Path, server: LlmServer, **more: Any) -> AsyncMemOS:
    options: dict[str, Any] = {"embedder": "none", "background": False} | more
    return AsyncMemOS(home, llm_vision="openai-compatible:eyes", llm_vision_url=server.url, **options)


async def described(m: AsyncMemOS, **more: Any) -> list[Memory]:
    return [f for f in (await m.list(kinds=["fact"], limit=100, **more)).items if "image" in f.body]


def shown(request: Request) -> list[str]:
    """The images of a request to the server."""
    parts = request.body["messages"][-1]["content"]
    return [p["image_url"]["url"] for p in parts if p["type"] == "image_url"]


# -- kept and given back ------------------------------------------------------------------------------------------------


async def test_an_image_is_kept_as_it_came_and_given_back(plain: AsyncMemOS) -> None:
    added = await plain.add(message(url(png()), "https://example.com/a.png"))
    assert added.notices == ()
    record = await plain.get(added.ids[0])
    assert [m["uri"] for m in record.body["media"]] == [ref(png()), "https://example.com/a.png"]
    data, media_type = await plain.image(record.body["media"][0]["uri"])
    assert (data, media_type) == (png(), "image/png")
    assert await plain.image(hashlib.sha256(png()).hexdigest().upper()) == (png(), "image/png")
    stats = (await plain.stats()).store
    assert (stats.images, stats.image_bytes) == (1, len(png()))
    assert stats.disk_bytes >= len(png())
    assert stats.schema_version == 5


async def test_the_kind_of_an_image_is_told_by_its_bytes_and_never_a_page(plain: AsyncMemOS) -> None:
    page = b"<html><script>alert(1)</script>"
    await plain.add(message(url(png(), "text/html"), url(page, "text/html"), url(b"<svg/>", "image/svg+xml")))
    assert (await plain.image(ref(png()))).media_type == "image/png"
    assert (await plain.image(ref(page))).media_type == "application/octet-stream"
    assert (await plain.image(ref(b"<svg/>"))).media_type == "image/svg+xml"


async def test_images_of_other_clients_are_understood(plain: AsyncMemOS) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png()).decode()}
    await plain.add({"role": "user", "content": [{"type": "image", "source": source}]})
    assert (await plain.image(ref(png()))).data == png()


async def test_the_same_image_is_kept_once(plain: AsyncMemOS) -> None:
    await plain.add([message(url(png()), text="first"), message(url(png()), text="second")])
    assert (await plain.stats()).store.images == 1


async def test_what_is_too_large_or_not_wanted_keeps_its_reference_only(tmp_path: Path) -> None:
    large = png(b"x" * (1 << 20))
    async with AsyncMemOS(tmp_path / "a", embedder="none", background=False, image_mb=1) as m:
        added = await m.add(message(url(large), url(png())))
        assert len(added.notices) == 1
        assert ref(large) in added.notices[0]
        assert "image_mb" in added.notices[0]
        assert (await m.image(ref(png()))).data == png()
        with pytest.raises(NotFound):
            await m.image(ref(large))
    async with AsyncMemOS(tmp_path / "b", embedder="none", background=False, keep_images=False) as m:
        added = await m.add(message(url(png())))
        assert "not stored" in added.notices[0]
        assert (await m.stats()).store.images == 0
        assert (await m.get(added.ids[0])).body["media"][0]["uri"] == ref(png())
    for wrong in (0, 41, "5", True):
        with pytest.raises(InvalidInput, match="image_mb"):
            AsyncMemOS(tmp_path, image_mb=wrong)


def turn(*images: bytes, text: str = "Look at our plan.") -> Message:
    """A user message with images, as a host hands it on."""
    parts = tuple(Part(PartType.IMAGE, uri="sha256:" + "0" * 64, data=image) for image in images)
    return Message("user", text, datetime.now(UTC), parts=parts)


async def test_the_images_of_a_turn_are_kept_and_described_like_any_other(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path / "home", server, image_mb=1) as m:
        big = png(os.urandom(1 << 20))
        begun = await m.start_turn(turn(png(), big), key="k", recall=False)
        again = await m.start_turn(turn(png(), big), key="k", recall=False)
        assert (again.message, again.repeated) == (begun.message, True)
        assert any("image_mb" in notice for notice in begun.notices)
        record = await m.get(begun.message)
        assert (record.text, [one["uri"] for one in record.body["media"]]) == (
            "Look at our plan.",
            [ref(png()), ref(big)],
        )
        assert await m.image(ref(png())) == (png(), "image/png")
        with pytest.raises(NotFound):
            await m.image(ref(big))
        await m.flush()
        assert [f.text for f in await described(m)] != [] and len(server.requests) == 1
        await m.delete(begun.message)
        with pytest.raises(NotFound):
            await m.image(ref(png()))
    async with AsyncMemOS(tmp_path / "none", embedder="none", background=False, keep_images=False) as m:
        begun = await m.start_turn(turn(png()), recall=False)
        assert begun.notices == () and (await m.get(begun.message)).body["media"][0]["uri"] == ref(png())
        with pytest.raises(NotFound):
            await m.image(ref(png()))


async def test_who_may_not_read_the_cube_gets_no_image(plain: AsyncMemOS) -> None:
    await plain.add(message(url(png())), user="ann")
    for cube in ("ann", None):
        with pytest.raises(NotFound):
            await plain.image(ref(png()), user="bob", cube=cube)
    await plain.share("ann", "bob", "read", user="ann")
    assert (await plain.image(ref(png()), user="bob", cube="ann")).data == png()
    for wrong in ("", "sha256:12", "../../etc/passwd", 7, None):
        with pytest.raises(InvalidInput):
            await plain.image(wrong, user="ann")  # type: ignore[arg-type]


async def test_a_deleted_image_is_nowhere_on_the_disk(plain: AsyncMemOS) -> None:
    secret = png(b"SECRET-PIXELS" * 40)
    first = await plain.add(message(url(secret), text="first"))
    second = await plain.add(message(url(secret), text="second"))
    assert (await plain.delete(first.ids[0])).images == 0
    assert (await plain.image(ref(secret))).data == secret
    gone = await plain.delete(second.ids[0])
    assert (gone.images, gone.erased_from_disk) == (1, True)
    with pytest.raises(NotFound):
        await plain.image(ref(secret))
    folder = plain.settings.home
    assert not [p for p in folder.rglob("*") if p.is_file() and b"SECRET-PIXELS" in p.read_bytes()]


async def test_what_was_taken_back_shows_no_image_until_it_is_undone(plain: AsyncMemOS) -> None:
    added = await plain.add(message(url(png())))
    await plain.delete(added.ids[0], hard=False)
    with pytest.raises(NotFound):
        await plain.image(ref(png()))
    await plain.undo(added.ids[0])
    assert (await plain.image(ref(png()))).data == png()


async def test_images_travel_in_an_archive(plain: AsyncMemOS, tmp_path: Path) -> None:
    zeros = b"BM" + bytes(3 << 20)  # nothing that an archive of ours may take for a zip bomb
    await plain.add(message(url(png()), url(zeros)), user="ann")
    await plain.export_cube(tmp_path / "a.cube", user="ann")
    await plain.import_cube(tmp_path / "a.cube", "copy", user="bob")
    assert (await plain.image(ref(png()), user="bob", cube="copy")) == (png(), "image/png")
    assert (await plain.image(ref(zeros), user="bob", cube="copy")).data == zeros
    await plain.delete(everything=True, user="bob", cube="copy")
    assert (await plain.stats(user="bob", cube="copy")).store.images == 0
    await plain.export_cube(tmp_path / "b.cube", user="bob", cube="copy")
    whole = bytearray((tmp_path / "a.cube").read_bytes())
    at = whole.index(base64.b64encode(zeros)[:64]) + 40
    whole[at : at + 1] = b"B"
    (tmp_path / "c.cube").write_bytes(whole)
    with pytest.raises(ArchiveError):
        await plain.import_cube(tmp_path / "c.cube", "damaged", user="bob")


async def test_a_cube_without_images_makes_the_archive_it_always_made(plain: AsyncMemOS, tmp_path: Path) -> None:
    import zipfile

    await plain.add("No picture.", user="ann")
    await plain.export_cube(tmp_path / "a.cube", user="ann")
    names = zipfile.ZipFile(tmp_path / "a.cube").namelist()
    assert "images.jsonl" not in names
    assert "images" not in json.loads(zipfile.ZipFile(tmp_path / "a.cube").read("manifest.json"))["counts"]


def test_the_synchronous_face_has_it_too(tmp_path: Path) -> None:
    with MemOS(tmp_path, embedder="none") as m:
        m.add(message(url(png())))
        assert m.image(ref(png())).data == png()


# -- described ------------------------------------------------------------------------------------------------------------


async def test_a_model_describes_each_image_and_search_finds_it(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server) as m:
        added = await m.add(message(url(png(b"1")), url(png(b"2")), text="Our plan, see <both>."), wait=True)
        assert (added.notices, added.pending) == ((), False)
        assert sorted(i for r in server.requests for i in shown(r)) == sorted([url(png(b"1")), url(png(b"2"))])
        asked = server.requests[0].body
        assert "see &lt;both>" in asked["messages"][-1]["content"][0]["text"]
        assert asked["response_format"]["type"] == "json_schema"
        found = await described(m)
        assert {f.body["image"] for f in found} == {ref(png(b"1"))[7:], ref(png(b"2"))[7:]}
        assert {f.sources[0].memory_id for f in found} == {added.ids[0]}
        assert "eyes" in found[0].body["reader"]
        result = await m.search("whiteboard with the roadmap")
        assert result.hits[0].memory.id == added.ids[0]
        assert "Launch 14 March" in result.context
        assert "Project Heron" in [e.text for e in (await m.list(kinds=["entity"])).items]
        assert not (await m.stats()).store.pending.get(DESCRIBE)
        assert (await m.profile()).items == ()  # nobody said it of herself


async def test_it_is_described_in_the_background(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server, background=True) as m:
        added = await m.add(message(url(png())), task_id="mine")
        assert await m.tasks.wait([added.task or ""], timeout=10)
        assert await m.tasks.wait(TaskQuery(kinds=[DESCRIBE]), timeout=10)
        named = (await m.tasks.find(TaskQuery(caller_id="mine", kinds=[DESCRIBE]))).items
        assert [t.state for t in named] == [TaskState.COMPLETED]
        assert len(await described(m)) == 1


async def test_without_a_model_that_sees_nothing_is_asked_or_marked(plain: AsyncMemOS) -> None:
    await plain.add(message(url(png())), wait=True)
    assert await described(plain) == []
    assert not (await plain.stats()).store.pending.get(DESCRIBE)


async def test_fast_asks_nothing(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server) as m:
        await m.add(message(url(png())), reading="fast", wait=True)
        await m.add(message(url(png(b"2"))), derive=False)
        await m.flush()
        assert server.requests == []
        page = await m.list(kinds=["trace"])
        await m.reread([t.id for t in page.items], wait=True)
        assert len(await described(m)) == 2


async def test_images_behind_addresses_and_of_other_kinds_are_left_alone(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server) as m:
        await m.add(message("https://example.com/a.png", url(b"BM0000", "image/bmp")), wait=True)
        assert server.requests == []
        assert not (await m.stats()).store.pending.get(DESCRIBE)


async def test_an_image_that_comes_again_is_not_paid_for_again(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server) as m:
        first = await m.add(message(url(png()), text="first"), wait=True)
        second = await m.add(message(url(png()), text="second"), wait=True)
        assert len(server.requests) == 1
        (only,) = await described(m)
        assert [s.memory_id for s in only.sources] == [first.ids[0], second.ids[0]]
        await m.delete(first.ids[0])
        (left,) = await described(m)
        assert [s.memory_id for s in left.sources] == [second.ids[0]]
        await m.delete(second.ids[0])
        assert await m.count(include_inactive=True) == 0


async def test_another_model_says_it_anew_under_the_same_id(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server) as m:
        added = await m.add(message(url(png())), wait=True)
        (before,) = await described(m)
    server.otherwise = json.dumps({"description": "A kanban board.", "text": "", "names": []})
    async with AsyncMemOS(
        tmp_path, embedder="none", background=False, llm_vision="openai-compatible:new", llm_vision_url=server.url
    ) as m:
        await m.reread(added.ids[0], wait=True)
        (after,) = await described(m)
        assert (after.id, after.text) == (before.id, "Image: A kanban board.")


async def test_reading_the_words_anew_leaves_what_the_image_shows(tmp_path: Path) -> None:
    def answers(request: ChatRequest) -> dict[str, Any]:
        return BOARD if request.messages[-1].images else {"facts": [], "names": []}

    async with AsyncMemOS(tmp_path, embedder="none", background=False, llm=ScriptedModel(answers)) as m:
        added = await m.add(message(url(png())), wait=True)
        (before,) = await described(m)
        await m.reread(added.ids[0], wait=True)
        assert await described(m) == [before]


async def test_other_words_leave_what_the_image_shows(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server) as m:
        added = await m.add(message(url(png()), text="I live in Oslo."), wait=True)
        (before,) = await described(m)
        await m.update(added.ids[0], text="I live in Rome.")
        await m.flush()
        await m.undo(added.ids[0])
        await m.flush()
        assert await described(m) == [before]
        assert [p.body["value"] for p in (await m.list(kinds=["profile"])).items] == ["Oslo"]
        assert len(server.requests) == 1


async def test_a_server_that_is_busy_loses_nothing(tmp_path: Path, server: LlmServer) -> None:
    server.say(busy(0.05), busy(0.05))
    async with eyes(tmp_path, server, background=True) as m:
        await m.add(message(url(png())))
        assert await m.tasks.wait(TaskQuery(kinds=[DESCRIBE]), timeout=20)
        assert len(await described(m)) == 1


async def test_a_model_that_cannot_see_holds_up_no_words_and_rests_at_last(tmp_path: Path) -> None:
    def blind(request: ChatRequest) -> dict[str, Any] | ModelError:
        if request.messages[-1].images:
            return ModelError("this model takes no images")
        return {"facts": [], "names": [{"name": "Heron", "type": "product"}]}

    model = ScriptedModel(blind)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as m:
        added = await m.add(message(url(png()), text="The Heron plan is ready."))
        assert await m.tasks.wait(TaskQuery(), timeout=20)
        assert "Heron" in [e.text for e in (await m.list(kinds=["entity"])).items]
        failed = (await m.tasks.find(TaskQuery(kinds=[DESCRIBE], states=[TaskState.FAILED]))).items
        assert any("takes no images" in (task.error or "") for task in failed)
        assert (await m.stats()).store.pending == {DESCRIBE: 1}
        assert (await m.image((await m.get(added.ids[0])).body["media"][0]["uri"])).data == png()


async def test_an_answer_that_is_none_is_tried_again(tmp_path: Path, server: LlmServer) -> None:
    server.say(garbage(), garbage(), garbage())
    async with eyes(tmp_path, server) as m:
        added = await m.add(message(url(png())), wait=True)
        assert added.pending
        assert any("not described" in n for n in added.notices)
        for _ in range(3):
            if (await m.stats()).store.pending.get(DESCRIBE):
                await _flushed(m)
        assert len(await described(m)) == 1


async def _flushed(m: AsyncMemOS) -> None:
    with contextlib.suppress(NotSeen):
        await m.flush()


async def test_one_record_of_several_images_keeps_what_succeeded(tmp_path: Path) -> None:
    model = ScriptedModel(BOARD, ModelUnavailable("away"), BOARD)
    async with AsyncMemOS(tmp_path, embedder="none", background=False, llm=model, reading="auto") as m:
        await m.configure_reading(mode="auto")
        store = await m.add(message(url(png(b"1")), url(png(b"2"))), reading="fine")
        assert store.records
        for _ in range(2):
            await _flushed(m)
        calls = [r for r in model.requests if r.messages[-1].images]
        assert len(calls) == 3
        assert len(await described(m)) == 2


async def test_a_record_taken_back_meanwhile_teaches_nothing(tmp_path: Path, server: LlmServer) -> None:
    async with eyes(tmp_path, server) as m:
        added = await m.add(message(url(png())))
        await m.delete(added.ids[0], hard=False)
        await m.flush()
        assert await described(m, include_inactive=True) == []
        await m.undo(added.ids[0])
        await m.flush()
        assert len(await described(m)) == 1


async def test_a_crash_between_the_add_and_the_description_loses_nothing(tmp_path: Path, server: LlmServer) -> None:
    code = f"""
import asyncio, os, signal
from memos import AsyncMemOS
async def main():
    m = AsyncMemOS({str(tmp_path)!r}, embedder="none", background=False, llm_vision="openai-compatible:eyes", llm_vision_url={server.url!r})
    await m.add({message(url(png()))!r})
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ended = subprocess.run([sys.executable, "-c", code], env=env, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert server.requests == []
    async with eyes(tmp_path, server, background=True) as m:
        assert (await m.image(ref(png()))).data == png()
        for _ in range(200):
            if await described(m):
                break
            await asyncio.sleep(0.05)
        assert len(await described(m)) == 1


async def test_what_an_image_says_is_no_command(tmp_path: Path, server: LlmServer) -> None:
    """Nor does a page of text become a memory without end."""
    server.otherwise = json.dumps({"description": "x" * 5_000, "text": "y" * 9_000, "names": ["Ada", "z" * 200, ""]})
    async with eyes(tmp_path, server) as m:
        await m.add(message(url(png())), wait=True)
        (found,) = await described(m)
        assert len(found.text) < 3_100
        assert [e.text for e in (await m.list(kinds=["entity"])).items] == ["Ada"]
        assert found.kind is Kind.FACT


async def test_the_bytes_of_a_message_object_have_the_name_that_is_theirs(plain: AsyncMemOS) -> None:
    part = Part(PartType.IMAGE, uri=f"sha256:{'0' * 64}", data=png())
    added = await plain.add(Message("user", "Look.", datetime(2026, 1, 2, tzinfo=UTC), parts=(part,)))
    assert (await plain.get(added.ids[0])).body["media"][0]["uri"] == ref(png())
    assert (await plain.image(ref(png()))).data == png()
