"""LangGraph's store over a cube, by the real package: what its own stores do, and what only ours does.

The package ships no tests of stores; the behaviours here are those of its documentation and of its `InMemoryStore`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any, TypedDict

import pytest

pytest.importorskip("langgraph.store.base", reason="needs memos[langgraph]: LangGraph is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memos import AsyncMemOS, MemOS
from memos.compat import items, langgraph
from memos.compat.langgraph import MemosStore
from memos.errors import InvalidInput, NotFound


class StandingClock:
    """The time by which items expire: it stands still until it is moved, so that a busy machine lets nothing expire."""

    def __init__(self) -> None:
        self.now = time.time()

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StandingClock:
    made = StandingClock()
    for module in (items, langgraph):
        monkeypatch.setattr(module, "time", made)
    return made


async def test_an_item_comes_back_changes_and_goes(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    ns = ("users", "123")
    await store.aput(ns, "prefs", {"theme": "dark", "sizes": [1, 2.5, None], "deep": {"a": {"b": True}}})
    item = await store.aget(ns, "prefs")
    assert isinstance(item, Item) and item.namespace == ns and item.key == "prefs"
    assert item.value == {"theme": "dark", "sizes": [1, 2.5, None], "deep": {"a": {"b": True}}}
    item.value["sizes"].append("mine to change")
    await store.aput(ns, "prefs", {"theme": "light"})
    again = await store.aget(ns, "prefs")
    assert again is not None and again.value == {"theme": "light"}
    assert again.created_at == item.created_at and again.updated_at > item.updated_at
    await store.adelete(ns, "prefs")
    assert await store.aget(ns, "prefs") is None
    assert await store.asearch(ns) == []
    await store.adelete(ns, "prefs")  # what is not there is gone already


async def test_reads_of_a_batch_come_before_its_puts_and_results_are_in_order(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    await store.aput(("a",), "k", {"n": 1})
    results = await store.abatch(
        [
            PutOp(("a",), "k", {"n": 2}),
            GetOp(("a",), "k"),
            PutOp(("a",), "new", {"n": 3}),
            SearchOp(("a",)),
            PutOp(("a",), "k", {"n": 4}),
            ListNamespacesOp(),
            GetOp(("a",), "none"),
        ]
    )
    assert results[0] is results[2] is results[4] is results[6] is None
    assert results[1].value == {"n": 1}
    assert [i.key for i in results[3]] == ["k"] and results[5] == [("a",)]
    assert (await store.aget(("a",), "k")).value == {"n": 4}
    assert (await store.aget(("a",), "new")).value == {"n": 3}


async def test_filters_compare_as_in_langgraph(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    await store.abatch(
        [
            PutOp(("docs",), "a", {"score": 4.5, "color": "red", "meta": {"lang": "en", "n": 1}, "day": "2026-01-02"}),
            PutOp(("docs",), "b", {"score": 3, "color": "blue", "tags": ["x", "y"], "day": "2026-03-01"}),
            PutOp(("docs",), "c", {"color": "red"}),
        ]
    )

    async def keys(filter: dict[str, Any]) -> list[str]:
        return sorted(i.key for i in await store.asearch(("docs",), filter=filter))

    assert await keys({"color": "red"}) == ["a", "c"]
    assert await keys({"color": {"$eq": "red"}, "score": {"$gt": 4.49}}) == ["a"]
    assert await keys({"color": {"$ne": "red"}}) == ["b"]
    assert await keys({"score": {"$gte": 3, "$lt": 4.5}}) == ["b"]
    assert await keys({"score": {"$lte": 4.5}}) == ["a", "b"]  # a missing value is not less than anything
    assert await keys({"day": {"$gt": "2026-02-01"}}) == ["b"]
    assert await keys({"meta": {"lang": "en"}}) == ["a"]
    assert (
        await keys({"tags": ["x", "y"]}) == ["b"]
        and await keys({"tags": ["x"]}) == []
        and await keys({"tags": "x"}) == []
    )
    assert await keys({"score": 3.0}) == ["b"] and await keys({"none": None}) == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"\$in"):
        await keys({"color": {"$in": ["red"]}})


async def test_prefixes_match_whole_labels_and_pages_do_not_overlap(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    await store.abatch([PutOp(("user",), f"k{i}", {"i": i}) for i in range(7)])
    await store.abatch(
        [
            PutOp(("user", "x"), "in", {}),
            PutOp(("users",), "out", {}),
            PutOp(("user-x",), "out", {}),
            PutOp(("us",), "out", {}),
        ]
    )
    assert len(await store.asearch(("user",), limit=50)) == 8
    pages = [[i.key for i in await store.asearch(("user",), limit=3, offset=o)] for o in (0, 3, 6, 9)]
    assert [len(p) for p in pages] == [3, 3, 2, 0] and len({k for p in pages for k in p}) == 8
    assert len(await store.asearch((), limit=50)) == 11
    long = ("user", "y" * 300, "line\nbreak")
    await store.aput(long, "k", {"text": "in a deep place"})
    assert (await store.aget(long, "k")).namespace == long
    assert [i.namespace for i in await store.asearch(("user", "y" * 300))] == [long]
    assert (
        long in await store.alist_namespaces(prefix=("user",)) and len(await store.asearch(("users",), limit=50)) == 1
    )


async def test_the_latest_is_listed_first(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    for key in ("first", "second", "third"):
        await store.aput(("n",), key, {"v": 1})
    await store.aput(("n",), "first", {"v": 2})
    assert [i.key for i in await store.asearch(("n",))] == ["first", "third", "second"]


async def test_namespaces_are_listed_by_prefix_suffix_and_depth(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    spaces = [("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("b", "b", "c"), ("z",)]
    await store.abatch([PutOp(ns, "k", {"v": 1}) for ns in spaces])
    assert await store.alist_namespaces() == sorted(spaces)
    assert await store.alist_namespaces(prefix=("a",)) == sorted(spaces)[:3]
    assert await store.alist_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "x", "c")]
    assert await store.alist_namespaces(suffix=("c",)) == [("a", "b", "c"), ("a", "x", "c"), ("b", "b", "c")]
    assert await store.alist_namespaces(prefix=("*", "b"), suffix=("c",)) == [("a", "b", "c"), ("b", "b", "c")]
    assert await store.alist_namespaces(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "x")]
    assert await store.alist_namespaces(limit=2, offset=1) == [("a", "b", "d"), ("a", "x", "c")]
    await store.adelete(("z",), "k")
    assert ("z",) not in await store.alist_namespaces()


async def test_a_query_ranks_and_the_rest_follows(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    await store.aput(("docs",), "py", {"text": "A tutorial of Python programming"})
    await store.aput(("docs",), "bread", {"text": "How to bake sourdough bread"})
    await store.aput(("docs",), "hidden", {"text": "Python once more"}, index=False)
    await store.aput(("docs",), "field", {"title": "Trees", "note": "Python is told of in the note"}, index=["title"])
    found = await store.asearch(("docs",), query="Python programming")
    assert found[0].key == "py" and found[0].score is not None and found[0].score > 0
    scores = {i.key: i.score for i in found}
    assert set(scores) == {"py", "bread", "hidden", "field"} and scores["hidden"] is None
    assert [i.key for i in await store.asearch(("docs",), query="Python programming", limit=1)] == ["py"]
    only = await store.asearch(("docs",), query="Python", filter={"text": "How to bake sourdough bread"})
    assert [i.key for i in only] == ["bread"]
    await store.aput(("docs",), "bread", {"text": "Python programming of a bread machine, Python programming"})
    assert {i.key for i in await store.asearch(("docs",), query="programming of a machine", limit=1)} == {"bread"}


async def test_items_are_memories_with_a_history(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    await store.aput(("u",), "pet", {"memory": "The dog is called Bruno"})
    await store.aput(("u",), "pet", {"memory": "The dog is called Rex"})

    async def ask(verb: str, *args: Any, **options: Any) -> Any:
        answer = getattr(memory, verb)(*args, user=ada, **options)
        return await answer if asyncio.iscoroutine(answer) else answer

    (hit, *_) = (await ask("search", "what is the dog called?")).hits
    assert hit.text == "The dog is called Rex" and hit.memory.tags == ("langgraph",)
    versions = await ask("history", hit.id)
    assert [v.memory.text for v in versions] == ["The dog is called Bruno", "The dog is called Rex"]
    assert versions[-1].cause == "langgraph put"
    await ask("flush")
    assert await ask("count") == 1  # nothing is read from an item
    await store.adelete(("u",), "pet")
    assert await ask("count", include_inactive=True) == 0


async def test_users_and_cubes_do_not_see_each_others_items(memory: Any, ada: str) -> None:
    mine, other = MemosStore(memory, user=ada), MemosStore(memory, user=f"{ada}-other")
    await mine.aput(("n",), "k", {"secret": "mine"})
    await other.aput(("n",), "k", {"secret": "other"})
    assert (await mine.aget(("n",), "k")).value == {"secret": "mine"}
    assert [i.value for i in await other.asearch((), query="secret")] == [{"secret": "other"}]
    with pytest.raises(NotFound):
        await MemosStore(memory, user=ada, cube=f"{ada}-not-there").aput(("n",), "k", {})


async def test_what_has_expired_is_not_served_and_is_swept(memory: Any, ada: str, clock: StandingClock) -> None:
    store = MemosStore(memory, user=ada, ttl={"refresh_on_read": False})
    await store.aput(("n",), "short", {"v": 1}, ttl=1.0 / 60)
    await store.aput(("n",), "long", {"v": 1}, ttl=10)
    await store.aput(("n",), "ever", {"v": 1})
    assert await store.aget(("n",), "short") is not None
    clock.now += 1.1
    assert await store.aget(("n",), "short") is None
    assert {i.key for i in await store.asearch(("n",))} == {"long", "ever"}
    late = MemosStore(memory, user=ada, ttl={"omit_expired": False, "refresh_on_read": False})
    assert await late.aget(("n",), "short") is not None
    assert await store.asweep_ttl() == 1 and await store.asweep_ttl() == 0
    assert await late.aget(("n",), "short") is None
    with pytest.raises(ValueError, match="ttl"):
        await store.aput(("n",), "k", {"v": 1}, ttl=0)


async def test_a_read_puts_off_the_end_and_a_put_without_ttl_takes_it_away(
    memory: Any, ada: str, clock: StandingClock
) -> None:
    store = MemosStore(memory, user=ada, ttl={"default_ttl": 1.5 / 60})
    await store.aput(("n",), "got", {"v": 1})
    await store.aput(("n",), "found", {"v": "a text"})
    await store.aput(("n",), "left", {"v": 1})
    await store.aput(("n",), "kept", {"v": 1})
    await store.aput(("n",), "kept", {"v": 2}, ttl=None)
    for _ in range(3):
        clock.now += 0.6
        item = await store.aget(("n",), "got")
        assert item is not None
        await store.asearch(("n",), filter={"v": "a text"})
    assert {i.key for i in await store.asearch(("n",), refresh_ttl=False)} == {"got", "found", "kept"}
    assert item.updated_at == item.created_at  # reading changes nothing


def test_a_sweeper_deletes_by_itself(memos: MemOS) -> None:
    store = MemosStore(memos)
    store.put(("n",), "k", {"v": 1}, ttl=0.2 / 60)
    store.start_ttl_sweeper(0.1 / 60)
    until = time.monotonic() + 10
    while memos.count() and time.monotonic() < until:
        time.sleep(0.05)
    assert memos.count() == 0 and store.stop_ttl_sweeper(5) and store.stop_ttl_sweeper()


async def test_bad_namespaces_are_refused(memory: Any, ada: str) -> None:
    store = MemosStore(memory, user=ada)
    for bad in ((), ("a.b",), ("",), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            await store.aput(bad, "k", {"v": 1})
    with pytest.raises(InvalidNamespaceError):
        await store.abatch([GetOp(("a.b",), "k")])
    with pytest.raises(InvalidInput):
        await store.aput(("n",), "k", {"v": object()})
    assert await store.asearch(()) == []


def test_long_values_stay_one_memory(memos: MemOS) -> None:
    store = MemosStore(memos)
    text = "\n\n".join(f"Paragraph {i} tells of the town of number {i}. " * 5 for i in range(60))
    store.put(("n",), "k", {"text": text})
    store.put(("n",), "k", {"text": text + " The lighthouse is green."})
    assert memos.count() == 1 and store.get(("n",), "k").value["text"].endswith("green.")
    assert store.search((), query="lighthouse")[0].key == "k"


def test_many_threads_put_one_key_once(memos: MemOS) -> None:
    store = MemosStore(memos)
    threads = [threading.Thread(target=lambda i=i: store.put(("n",), "k", {"i": i})) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memos.count() == 1 and len(store.search(("n",))) == 1


async def test_many_tasks_put_one_key_once(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        store = MemosStore(memos)
        await asyncio.gather(*(store.aput(("n",), "k", {"i": i}) for i in range(8)))
        assert await memos.count() == 1


async def test_of_a_key_that_two_processes_made_at_once_the_latest_stays(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        store, other = MemosStore(memos), MemosStore(memos)  # each with a lock of its own, as two processes have
        results = await asyncio.gather(*(s.aput(("n",), "k", {"i": i}) for i, s in enumerate((store, other))))
        assert results == [None, None]
        assert len(await store.asearch(("n",))) == 1
        await store.aput(("n",), "k", {"i": 7})
        assert await memos.count() == 1 and (await other.aget(("n",), "k")).value == {"i": 7}


async def test_a_synchronous_call_of_an_asynchronous_memory_never_hangs(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        store = MemosStore(memos)
        with pytest.raises(InvalidInput, match="await the asynchronous"):
            store.get(("n",), "k")
        await asyncio.to_thread(store.put, ("n",), "k", {"v": 1})
        assert (await store.aget(("n",), "k")).value == {"v": 1}
    with pytest.raises(InvalidInput, match="asynchronous method"):
        await asyncio.to_thread(lambda: MemosStore(AsyncMemOS(tmp_path)).get(("n",), "k"))
    with pytest.raises(InvalidInput, match="no memory"):
        MemosStore({"not": "one"})


def test_what_is_deleted_softly_can_be_put_again(memos: MemOS) -> None:
    store = MemosStore(memos, hard=False)
    for _ in range(2):
        store.put(("n",), "k", {"v": "the very same words"})
        assert store.get(("n",), "k") is not None
        store.delete(("n",), "k")
        assert store.get(("n",), "k") is None and store.search(("n",), query="words") == []
    assert memos.count(include_inactive=True) == 2


NAMES = st.sampled_from(["a", "b", "c"])
SPACES = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
VALUES = st.dictionaries(
    st.sampled_from(["x", "y"]),
    st.one_of(st.integers(-5, 5), st.sampled_from(["red", "blue", ""]), st.booleans()),
    max_size=2,
)
PATHS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2).map(tuple)
MATCHES = st.lists(
    st.tuples(st.sampled_from(["prefix", "suffix"]), PATHS).map(lambda m: MatchCondition(*m)), max_size=2
)
OPS = st.one_of(
    st.tuples(SPACES, NAMES, st.one_of(VALUES, VALUES, st.none())).map(lambda o: PutOp(*o)),
    st.tuples(SPACES, NAMES).map(lambda o: GetOp(*o)),
    st.tuples(st.lists(NAMES, max_size=2).map(tuple), st.one_of(st.none(), VALUES), st.just(100)).map(
        lambda o: SearchOp(*o)
    ),
    st.tuples(MATCHES.map(tuple), st.one_of(st.none(), st.integers(1, 3)), st.integers(0, 9), st.integers(0, 3)).map(
        lambda o: ListNamespacesOp(*o)
    ),
)


@given(batches=st.lists(st.lists(OPS, min_size=1, max_size=6), min_size=1, max_size=6))
@settings(max_examples=12)
def test_answers_are_those_of_langgraphs_own_store(
    batches: list[list[Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    theirs = InMemoryStore()
    with MemOS(tmp_path_factory.mktemp("same"), embedder="none", durability="normal") as memos:
        ours = MemosStore(memos)
        for ops in batches:
            for op, a, b in zip(ops, theirs.batch(ops), ours.batch(ops), strict=True):
                if isinstance(op, ListNamespacesOp):
                    # theirs goes on naming a namespace whose last item is gone, and one that was only asked for
                    continue
                assert _plain(a) == _plain(b), op
            there = {ns: items for ns, items in theirs._data.items() if items}
            assert ours.list_namespaces(limit=1000) == sorted(there)
            for op in ops:
                if isinstance(op, ListNamespacesOp):
                    clean = InMemoryStore()
                    clean._data.update(there)
                    assert clean.batch([op]) == ours.batch([op])


def _plain(answer: Any) -> Any:
    if isinstance(answer, list):
        return sorted((i.namespace, i.key, repr(sorted(i.value.items()))) for i in answer)
    return None if answer is None else (answer.namespace, answer.key, answer.value)


class State(TypedDict):
    said: str
    answer: str


async def test_a_compiled_graph_keeps_and_finds(memory: Any, ada: str) -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="needs the package langgraph")
    from langgraph.runtime import Runtime
    from langgraph.store.base import BaseStore

    async def remember(state: State, *, store: BaseStore) -> dict[str, str]:
        await store.aput(("memories", ada), state["said"][:20], {"text": state["said"]})
        return {}

    async def answer(state: State, runtime: Runtime[None]) -> dict[str, str]:
        assert runtime.store is not None
        found = await runtime.store.asearch(("memories", ada), query=state["said"], limit=1)
        return {"answer": found[0].value["text"]}

    builder = graphs.StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_node("answer", answer)
    builder.add_edge(graphs.START, "remember")
    builder.add_edge("remember", "answer")
    graph = builder.compile(store=MemosStore(memory, user=ada))
    assert (await graph.ainvoke({"said": "The keys hang behind the door"}))["answer"] == "The keys hang behind the door"
    asking = graphs.StateGraph(State).add_node("answer", answer).add_edge(graphs.START, "answer")
    found = await asking.compile(store=MemosStore(memory, user=ada)).ainvoke({"said": "where do the keys hang?"})
    assert found["answer"] == "The keys hang behind the door"


def test_a_graph_runs_synchronously(memos: MemOS) -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="needs the package langgraph")
    from langgraph.store.base import BaseStore

    def node(state: State, *, store: BaseStore) -> dict[str, str]:
        store.put(("n",), "k", {"text": state["said"]})
        return {"answer": store.get(("n",), "k").value["text"]}

    graph = (
        graphs.StateGraph(State).add_node("node", node).add_edge(graphs.START, "node").compile(store=MemosStore(memos))
    )
    assert graph.invoke({"said": "hello"})["answer"] == "hello"


def test_langmem_manages_and_searches_memories(memos: MemOS) -> None:
    langmem = pytest.importorskip("langmem", reason="LangMem is not installed (pip install langmem)")
    store = MemosStore(memos, user="alice")
    manage = langmem.create_manage_memory_tool(namespace=("memories",), store=store)
    search = langmem.create_search_memory_tool(namespace=("memories",), store=store)
    told = manage.invoke({"content": "Alice prefers aisle seats.", "action": "create"})
    assert "created" in told
    id = told.split()[-1]
    manage.invoke({"content": "Alice prefers window seats.", "action": "update", "id": id})
    assert "window seats" in search.invoke({"query": "which seat does she like?"})
    manage.invoke({"action": "delete", "id": id})
    assert "seats" not in search.invoke({"query": "which seat does she like?"})
