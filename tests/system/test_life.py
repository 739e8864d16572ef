"""Opening, closing, threads, processes, background work, and settings."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS, MemOS, Settings
from memos.errors import InvalidInput
from stubs import Words, child_env

KAYAK = "The teal kayak lies in shed four"


def wait_for(condition: Any, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


# -- life --------------------------------------------------------------------------------------------------------------


def test_the_synchronous_face_has_every_verb_of_the_asynchronous_one() -> None:
    verbs = {n for n, f in inspect.getmembers(AsyncMemOS, inspect.iscoroutinefunction) if not n.startswith("_")} - {
        "close"
    }
    assert len(verbs) > 15
    for verb in verbs:
        assert inspect.signature(getattr(MemOS, verb)) == inspect.signature(getattr(AsyncMemOS, verb)), verb
        assert getattr(MemOS, verb).__doc__ == getattr(AsyncMemOS, verb).__doc__


def test_closing_twice_is_fine_and_nothing_works_afterwards(home: Path) -> None:
    memos = MemOS(home, embedder="none", background=False)
    memos.add(KAYAK)
    memos.close()
    memos.close()
    before = threading.active_count()
    for call in (
        lambda: memos.add(KAYAK),
        lambda: memos.search("kayak"),
        memos.list,
        memos.stats,
        memos.flush,
        memos.list_cubes,
    ):
        with pytest.raises(InvalidInput, match="closed"):
            call()
    assert threading.active_count() == before


def test_closed_before_it_was_used_is_closed(home: Path) -> None:
    memos = MemOS(home, embedder="none")
    memos.close()
    with pytest.raises(InvalidInput, match="closed"):
        memos.add(KAYAK)
    assert not home.exists()


async def test_the_same_for_asyncio(home: Path) -> None:
    async with AsyncMemOS(home, embedder="none", background=False) as memos:
        await memos.add(KAYAK)
        assert len(await memos.search("kayak")) == 1
    await memos.close()
    with pytest.raises(InvalidInput, match="closed"):
        await memos.search("kayak")


def test_a_context_manager_closes_and_what_was_added_is_there_again(home: Path) -> None:
    with MemOS(home, embedder="none") as memos:
        (id,) = memos.add(KAYAK).ids
    with pytest.raises(InvalidInput):
        memos.get(id)
    with MemOS(home, embedder="none") as memos:
        assert memos.search("kayak").hits[0].id == id


def test_closing_while_others_call_tells_each_of_them(home: Path) -> None:
    memos = MemOS(home, embedder="none", background=False)
    memos.add(KAYAK)
    started, outcomes = threading.Barrier(9), []

    def work(n: int) -> None:
        started.wait()
        for i in itertools.count():  # until it is told that there is nothing to add to any more
            try:
                memos.add(f"thread {n} adds message number {i} of its own")
            except Exception as error:
                outcomes.append(error)
                return

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    started.wait()
    time.sleep(0.05)
    memos.close()
    for t in threads:
        t.join(10)
    assert not any(t.is_alive() for t in threads)
    assert len(outcomes) == 8


def test_the_end_of_the_program_without_close_loses_nothing(home: Path) -> None:
    code = f"from memos import MemOS; MemOS({str(home)!r}, embedder='none').add({KAYAK!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=child_env())
    with MemOS(home, embedder="none") as memos:
        assert len(memos.search("kayak")) == 1


# -- many at once ------------------------------------------------------------------------------------------------------


def test_thirty_two_threads_use_one_system(memos: MemOS) -> None:
    def work(n: int) -> int:
        found = 0
        for i in range(8):
            (id,) = memos.add(f"thread {n} wrote message {i} about the kayak", session=f"s{n}").ids
            assert memos.get(id).session == f"s{n}"
            found += len(memos.search(f"thread {n} message {i}", limit=3))
        return found

    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(work, range(32)))
    assert all(found)
    assert len(memos.list(kinds=["trace"], limit=1_000).items) == 32 * 8


def test_the_same_message_from_many_threads_is_stored_once(memos: MemOS) -> None:
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: memos.add(KAYAK), range(40)))
    assert len({r.ids for r in results}) == 1
    assert sum(r.records[0].new for r in results) == 1
    assert memos.get(results[0].ids[0]).seen == 40


async def test_many_calls_of_one_loop_run_together(home: Path) -> None:
    async with AsyncMemOS(home, embedder="none", background=True) as memos:
        await asyncio.gather(*(memos.add(f"message {i} is about the kayak", user=f"u{i % 5}") for i in range(100)))
        found = await asyncio.gather(*(memos.list(user=f"u{i}", kinds=["trace"]) for i in range(5)))
        assert [len(p.items) for p in found] == [20] * 5


CHILD = """
import sys
from memos import MemOS
home, who = sys.argv[1:]
with MemOS(home, embedder="none") as memos:
    for i in range(40):
        memos.add(f"process {who} wrote message {i}. My cat is called Tom{who}.", session=who)
        if i % 10 == 0:
            memos.search("message")
    memos.flush()
"""


def test_two_processes_share_one_home(home: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(home), who], stderr=subprocess.PIPE, env=child_env())
        for who in "ab"
    ]
    with MemOS(home, embedder="none") as memos:
        for i in range(20):
            memos.add(f"the parent wrote message {i} by itself")
        for child in children:
            _, stderr = child.communicate(timeout=100)
            assert child.returncode == 0, stderr.decode()
        memos.flush()
        records = memos.list(kinds=["trace"], limit=500).items
        assert len(records) == len({m.text for m in records}) == 100
        pets = memos.list(kinds=["profile"]).items
        assert sorted(len(m.sources) for m in pets) == [40, 40]
        assert {h.memory.session for h in memos.search("process a wrote message 7", limit=1)} == {"a"}


# -- background --------------------------------------------------------------------------------------------------------


def test_in_the_background_facts_and_vectors_come_by_themselves(home: Path) -> None:
    with MemOS(home, embedder=Words()) as memos:
        memos.add("I live in Rome.")
        wait_for(lambda: not any(memos.stats().waiting.values()))
        stats = memos.stats()
        assert dict(stats.store.by_kind)["profile"] == 1 and sum(stats.store.vectors.values()) == 2


def test_without_background_nothing_is_done_before_it_is_asked(home: Path) -> None:
    with MemOS(home, embedder=Words(), background=False) as memos:
        memos.add("I live in Rome.")
        time.sleep(0.2)
        assert dict(memos.stats().waiting) == {"digest": 1, "embed": 1}
        memos.flush()
        assert not any(memos.stats().waiting.values())


def test_what_one_run_left_undone_the_next_takes_up_when_it_opens_the_cube(home: Path) -> None:
    with MemOS(home, embedder=Words(), background=False) as memos:
        memos.add("I live in Rome.")
    with MemOS(home, embedder=Words()) as memos:
        memos.stats()
        wait_for(lambda: not any(memos.stats().waiting.values()))


# -- settings ----------------------------------------------------------------------------------------------------------


def test_settings_come_from_arguments_then_the_environment_then_defaults(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOS_HOME", str(home))
    monkeypatch.setenv("MEMOS_EMBEDDER", "none")
    monkeypatch.setenv("MEMOS_TIMEZONE", "Europe/Oslo")
    monkeypatch.setenv("MEMOS_BACKGROUND", "off")
    monkeypatch.setenv("MEMOS_OPEN_CUBES", " 7 ")
    monkeypatch.setenv("MEMOS_RESIDENT_MB", "")
    with MemOS(open_cubes=9) as memos:
        s = memos.settings
        assert (s.home, s.embedder, s.timezone, s.background, s.open_cubes, s.resident_mb, s.durability) == (
            home, "none", "Europe/Oslo", False, 9, 2048, "full")  # fmt: skip
        (id,) = memos.add({"role": "user", "content": KAYAK, "chat_time": "2024-07-01 12:00"}).ids
        assert str(memos.get(id).valid_from) == "2024-07-01 10:00:00+00:00"
    assert {name: value for name, value, _ in s.rows()}["open_cubes"] == "9"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMOS_DURABILITY", "maybe"),
        ("MEMOS_TIMEZONE", "Mars/Olympus"),
        ("MEMOS_BACKGROUND", "perhaps"),
        ("MEMOS_OPEN_CUBES", "many"),
        ("MEMOS_OPEN_CUBES", "0"),
        ("MEMOS_RESIDENT_MB", "-3"),
        ("MEMOS_RESIDENT_MB", "1.5"),
    ],
)
def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Settings.load({variable: value})
    assert variable in str(error.value) and value in str(error.value)
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInput, match=variable):
        MemOS()


@pytest.mark.parametrize("options", [{"nope": 1}, {"open_cubes": "5"}, {"open_cubes": True}, {"background": "yes"}, {"durability": "x"},
                                     {"timezone": "x/y"}, {"timezone": 5}, {"resident_mb": 0}])  # fmt: skip
def test_a_bad_option_is_named(home: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as error:
        MemOS(home, **options)
    assert next(iter(options)) in str(error.value)
    assert not home.exists()


def test_settings_and_single_options_together_are_refused(home: Path) -> None:
    ready = Settings(home=home, embedder="none")
    for options in ({"home": home}, {"background": False}, {"embedder": "none"}, {"reranker": "none"}):
        with pytest.raises(InvalidInput):
            AsyncMemOS(settings=ready, **options)  # type: ignore[arg-type]
    with MemOS(settings=ready) as memos:
        assert memos.settings is ready


@pytest.mark.parametrize("spec", ["nope", "openai:", "st", ""])
def test_an_embedder_that_does_not_exist_is_an_input_error_at_the_first_call(home: Path, spec: str) -> None:
    with MemOS(home, embedder=spec) as memos, pytest.raises(InvalidInput, match="embedder"):
        memos.add(KAYAK)


def test_the_home_holds_nothing_named_by_users(home: Path) -> None:
    with MemOS(home, embedder="none") as memos:
        memos.add(KAYAK, user="Anneliese", session="Geheim")
        memos.create_cube("Lieblingskubus", user="Anneliese")
    assert not [f for f in home.rglob("*") if any(w in f.name for w in ("Anneliese", "Geheim", "Lieblingskubus"))]
    assert json.dumps([f.name for f in home.rglob("*")]).isascii()


@pytest.mark.parametrize(
    ("verb", "word", "ours"),
    [("add", "user_id", "user="), ("search", "top_k", "limit="), ("list", "filters", "filter=")],
)
def test_an_argument_of_another_library_is_answered_with_ours(home: Path, verb: str, word: str, ours: str) -> None:
    with (
        MemOS(home, embedder="none") as memos,
        pytest.raises(TypeError, match=rf"^MemOS\.{verb}\(\).*did you mean {ours}\?"),
    ):
        getattr(memos, verb)(*([] if verb == "list" else ["x"]), **{word: "a"})
