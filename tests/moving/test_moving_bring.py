"""Taking files in: once, in order, resumably, and honestly about what is bad."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from exports import chats, claude_conversation, claude_message, written

from memos import AsyncMemOS, MemOS
from memos.errors import Busy, InvalidInput, StorageFull
from memos.moving import spool
from memos.moving.bring import bring, bring_now
from memos.moving.items import Bad, Call, Item, Left, Said, Skill, Source, Told, Worked
from memos.moving.report import Progress

AT = "2025-06-26T15:00:00+00:00"


def source(*items: Item, name: str = "stub") -> Source:
    return Source(name, "a stub", lambda _: True, lambda _: iter(items))


def told(memos: MemOS, **how: Any) -> list[str]:
    return [memory.text for memory in memos.list(kinds=["trace"], newest_first=False, limit=1_000, **how).items]


def state_of(home: Path) -> dict[str, str]:
    """Every file below a data folder by its bytes, but for logs that a reader may open."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal", ".lock"))
    }


def test_everything_is_stored_once_however_often_it_is_brought(memos: MemOS, tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", chats(5))
    first, second = bring_now(memos, path), bring_now(memos, path)
    assert (first.source, first.messages, first.sessions, first.new, first.known) == ("chatgpt", 20, 5, 20, 0)
    assert (second.new, second.known) == (0, 20)
    assert memos.count(kinds=["trace"]) == 20
    assert {memory.seen for memory in memos.list(kinds=["trace"]).items} == {1}  # not even counted again


def test_a_longer_export_of_later_brings_what_is_new(memos: MemOS, tmp_path: Path) -> None:
    bring_now(memos, written(tmp_path / "old.json", chats(3)))
    report = bring_now(memos, written(tmp_path / "new.json", chats(5, 6)))
    assert (report.known, report.new) == (12, 18)


def test_the_oldest_come_first_whatever_the_order_of_the_file(memos: MemOS, tmp_path: Path) -> None:
    bring_now(memos, written(tmp_path / "conversations.json", chats(3, 2, text="said {}")))
    assert told(memos) == ["said 0-0", "said 0-1", "said 1-0", "said 1-1", "said 2-0", "said 2-1"]


def test_a_dry_run_says_all_and_writes_nothing(memos: MemOS, tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [*chats(5), {"no": "mapping"}])
    bring_now(memos, written(tmp_path / "part.json", chats(2)))
    memos.flush()
    before = state_of(memos.settings.home)
    report = bring_now(memos, path, dry_run=True)
    assert (report.messages, report.known, report.new, report.bad) == (20, 8, 12, 1)
    assert (report.first, report.last) == ("2023-11-14T22:13:20+00:00", "2023-11-18T22:16:20+00:00")
    assert report.seconds > 0
    assert state_of(memos.settings.home) == before
    assert memos.count(kinds=["trace"]) == 8


def test_what_the_source_holds_twice_is_counted_and_stored_once(memos: MemOS, tmp_path: Path) -> None:
    lines = "".join(
        f'{{"role": "user", "content": "I live in Oslo", "date": "{day}"}}\n'
        for day in ("2025-06-26", "2025-06-26", "2025-07-01")
    )
    report = bring_now(memos, written(tmp_path / "chat.jsonl", lines))
    assert (report.messages, report.repeated, report.new) == (2, 1, 2)


def test_facts_are_read_with_the_day_they_were_said_on(memos: MemOS, tmp_path: Path) -> None:
    lines = (
        '{"role": "user", "content": "I live in Bergen.", "date": "2025-07-01T10:00:00+02:00"}\n'
        '{"role": "user", "content": "I live in Oslo.", "date": "2024-01-01T10:00:00+02:00"}\n'
    )
    bring_now(memos, written(tmp_path / "chat.jsonl", lines))
    memos.flush()
    facts = [memory.text for memory in memos.list(kinds=["profile", "fact"]).items]
    assert any("Bergen" in fact for fact in facts)
    assert not any(
        "Oslo" in fact for fact in facts
    )  # what was said earlier does not hold any more, though it stood later


def test_without_facts_and_for_notes_nothing_is_read(memos: MemOS, tmp_path: Path) -> None:
    bring_now(memos, written(tmp_path / "a.json", chats(1)), facts=False)
    bring_now(memos, written(tmp_path / "b.json", [{"text": "I live in Oslo."}]))
    memos.flush()
    assert memos.list(kinds=["profile", "fact"]).items == ()
    assert memos.search("Oslo").hits


def test_chinese_is_kept_and_found(memos: MemOS, tmp_path: Path) -> None:
    talk = claude_conversation(
        "t", claude_message("m", "human", "我住在上海，喜欢喝乌龙茶。", "2025-06-26T23:30:00+08:00")
    )
    assert bring_now(memos, written(tmp_path / "conversations.json", [talk])).source == "claude"
    memos.flush()
    assert "乌龙茶" in str(memos.search("喜欢喝什么茶？"))


def test_the_zone_of_a_message_is_kept(memos: MemOS) -> None:
    bring_now(memos, "-", source=source(Said("s", "user", "tomorrow I fly", "2025-06-26T23:30:00+08:00")))
    (memory,) = memos.list(kinds=["trace"]).items
    assert memory.body["zone"] == "+08:00"
    assert memory.valid_from is not None
    assert memory.valid_from.isoformat() == "2025-06-26T15:30:00+00:00"


def test_a_time_that_is_none_does_not_cost_the_message(memos: MemOS) -> None:
    report = bring_now(memos, "-", source=source(Said("s", "user", "hello world there", "the other day")))
    assert (report.new, report.bad) == (1, 0)


def test_all_may_be_put_into_one_session(memos: MemOS, tmp_path: Path) -> None:
    bring_now(memos, written(tmp_path / "conversations.json", chats(3)), session="old chats")
    assert {memory.session for memory in memos.list(kinds=["trace"]).items} == {"old chats"}


def test_nobody_elses_memory_is_touched(memos: MemOS, tmp_path: Path) -> None:
    items = (Told("a memory of bob", user="bob", id="1"), Told("a memory of ada", user="ada", id="2"))
    report = bring_now(memos, "-", source=source(*items), user="carol")
    assert report.users == ("ada", "bob")
    assert memos.count(user="carol", kinds=["trace"]) == 2
    assert memos.count(user="bob") == 0


def test_bad_rows_are_named_counted_and_skipped(memos: MemOS, tmp_path: Path) -> None:
    items: list[Item] = [
        *(Bad(f"line {n}", "it is broken") for n in range(30)),
        Said("s", "user", " \u200b", id="blank"),
        Said("s", "wizard", "hello", id="role"),
        Told("x" * 5_000_001, id="long"),
        Said("s", "user", "This one is fine", id="fine"),
    ]
    report = bring_now(memos, "-", source=source(*items), bad=tmp_path / "bad.jsonl")
    assert (report.new, report.bad, len(report.bad_rows)) == (1, 33, 20)
    rows = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert len(rows) == 33
    assert [row["where"] for row in rows[30:]] == [
        "session s, id blank",
        "session s, id role",
        "session (none), id long",
    ]
    assert "hello" not in str(rows)
    with pytest.raises(InvalidInput, match="exists already"):
        bring_now(memos, "-", source=source(), bad=tmp_path / "bad.jsonl")


def test_nul_characters_and_half_characters_become_marks(memos: MemOS) -> None:
    bring_now(memos, "-", source=source(Told("a\0b \ud800 c", info={"k\0": "\udfff"}, tags=("t\0ag",), session="s\0")))
    (memory,) = memos.list(kinds=["trace"]).items
    assert memory.text == "a\ufffdb \ufffd c"
    assert memory.session == "s\ufffd"


def test_what_is_left_out_is_counted_by_kind(memos: MemOS) -> None:
    report = bring_now(
        memos, "-", source=source(Left("vectors", 3, "they are made anew"), Left("vectors", 4, "they are made anew"))
    )
    assert report.left == (Left("vectors", 7, "they are made anew"),)


def test_progress_is_told_for_reading_and_storing(memos: MemOS, tmp_path: Path) -> None:
    seen: list[Progress] = []
    bring_now(memos, written(tmp_path / "conversations.json", chats(5)), progress=seen.append)
    assert seen[0] == Progress("reading", 20)
    assert seen[-1] == Progress("storing", 20, 20)


class Full:
    """A memory that has no room for a while."""

    def __init__(self, memos: AsyncMemOS, times: int, wait: float = 0.0) -> None:
        self._memos, self.left, self._wait = memos, times, wait

    async def add(self, *args: Any, **how: Any) -> Any:
        if self.left:
            self.left -= 1
            raise Busy("too much waits", self._wait)
        return await self._memos.add(*args, **how)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memos, name)


async def test_while_there_is_no_room_it_waits(tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", chats(2))
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as memos:
        full = Full(memos, 3)
        assert (await bring(full, path)).new == 8
        assert full.left == 0
        with pytest.raises(Busy):  # for a day it does not wait
            await bring(Full(memos, 3, 86_400.0), written(tmp_path / "new.json", chats(2, first=2)))
    with pytest.raises(InvalidInput, match="is no memory"):
        await bring(object(), path)


# -- agents -------------------------------------------------------------------------------------------------------------

TURNS = (
    Worked("w", "e1:1", "Fix the build", "It is fixed", (Call("bash", "make", "error: no cc", error="no cc", ok=False), Call("bash", "apt install gcc", "ok", ok=True, duration=2.0)), AT, reflection="A compiler was missing"),
    Worked("w", "e1:2", "And run the tests", "They pass", (), "2025-06-26T15:05:00+00:00", over=True, reward=0.8),
    Worked("w", "e2:1", "Write a poem about ships", "Ships ...", (), "2025-06-27T15:05:00+00:00", over=True),
)  # fmt: skip


def test_turns_become_episodes_with_steps_and_rewards(memos: MemOS) -> None:
    report = bring_now(memos, "-", source=source(*TURNS))
    assert (report.turns, report.steps, report.new) == (3, 2, 3)
    found = sorted(memos.episodes().items, key=lambda episode: episode.opened_at)
    assert len(found) == 2
    assert all(not episode.is_open for episode in found)
    whole = memos.episode(found[0].id)
    assert [step.role.value for step in whole.steps] == ["user", "tool", "tool", "assistant", "user", "assistant"]
    assert [signal.score for signal in whole.signals if signal.source.value == "verifier"] == [0.8]
    assert found[0].opened_at.isoformat() == AT


def test_turns_brought_again_are_there_once(memos: MemOS) -> None:
    bring_now(memos, "-", source=source(*TURNS))
    assert bring_now(memos, "-", source=source(*TURNS), dry_run=True).known == 3
    count = memos.count(include_inactive=True)
    report = bring_now(memos, "-", source=source(*TURNS))
    assert (report.new, report.known) == (0, 3)
    assert memos.count(include_inactive=True) == count


def test_a_turn_that_was_cut_off_is_finished(memos: MemOS) -> None:
    memos.start_turn("Fix the build", session="w", agent="stub", task="new", key="stub:e1:1/turn", recall=False, at=AT)
    memos.report_step(
        "bash", "make", "error: no cc", error="no cc", ok=False, call_id="stub:e1:1/0", session="w", agent="stub", at=AT
    )
    assert bring_now(memos, "-", source=source(*TURNS)).new == 3
    found = sorted(memos.episodes().items, key=lambda episode: episode.opened_at)
    assert len(found) == 2
    assert len(memos.episode(found[0].id).steps) == 6


def test_skills_begin_on_probation_and_are_there_once(memos: MemOS) -> None:
    good = Skill("brew-tea", "---\nname: brew-tea\ndescription: Brews tea.\n---\n# brew-tea\n\nBoil water.")
    path = Skill("passwd", "/etc/passwd")
    report = bring_now(memos, "-", source=source(good, path, Skill("bad", "---\nname: Not A Name\n---\nx")))
    assert (report.new, report.bad) == (1, 2)
    assert [(skill.name, skill.body.state.value) for skill in memos.skills()] == [("brew-tea", "probation")]
    assert (bring_now(memos, "-", source=source(good)).new, len(memos.skills())) == (0, 1)


def test_a_full_disk_for_temporary_files_is_told_and_nothing_is_stored(
    memos: MemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_SCHEMA", f"{spool._SCHEMA}; PRAGMA max_page_count = 40")
    with pytest.raises(StorageFull, match="TMPDIR"):
        bring_now(memos, "-", source=source(*(Told(f"{n} " + "x" * 900, id=str(n)) for n in range(2_000))))
    assert memos.count() == 0


async def test_the_graph_of_the_mcp_server_is_the_same_by_either_way(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from memos.mcp.jsonl import load
    from memos.tools.door import Door

    line = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["lives in Oslo"]}
    path = written(tmp_path / "memory.jsonl", json.dumps(line) + "\n")
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as memos:
        assert (await bring(memos, path)).new == 2
        assert (await load(Door.to(memos, user="default"), path)).new == 0
        assert (await bring(memos, path)).new == 0


# -- all or nothing -----------------------------------------------------------------------------------------------------


def test_what_turns_out_to_be_hostile_at_its_end_has_stored_nothing(memos: MemOS) -> None:
    def items(_: Path) -> Iterator[Item]:
        yield from (Said("s", "user", f"message number {n}") for n in range(5_000))
        raise InvalidInput("a bomb")

    with pytest.raises(InvalidInput, match="a bomb"):
        bring_now(memos, "-", source=Source("stub", "a stub", lambda _: True, items))
    assert memos.count() == 0
