"""`get`, `list`, `neighbors`, `stats`: pages, filters, kinds, and the two clocks."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

import pytest

from memos import Kind, MemOS, Status
from memos.errors import InvalidInput, NotFound


def said(day: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "chat_time": f"{day}T10:00:00Z", **more}


class Moves:
    """Rome, then Oslo, then Bergen; that she was in Turin between Rome and Oslo is told late; Bergen was an error for
    Berlin. `knew[i]` is the instant after the i-th thing became known.
    """

    def __init__(self, memos: MemOS) -> None:
        self.memos = memos
        self.knew: list[datetime] = []
        self.ids: list[str] = []
        for message in (
            said("2023-01-10", "I live in Rome."),
            said("2023-06-10", "I moved to Oslo."),
            said("2024-02-10", "I moved to Bergen."),
            said("2023-03-10", "I moved to Turin."),
        ):
            self._note(memos.add([message], wait=True).ids[0])
        memos.update(self.ids[2], text="I moved to Berlin.")
        memos.flush()
        self._note(self.ids[2])

    def _note(self, id: str) -> None:
        self.ids.append(id)
        latest = [v.at for m in self.memos.list(include_inactive=True).items for v in self.memos.history(m.id)]
        self.knew.append(max(latest))

    def home(self, as_of: str | None, known: int | None) -> list[str]:
        at = None if known is None else self.knew[known]
        items = self.memos.list(kinds=["profile"], as_of=as_of, known_at=at).items
        return [m.text.removeprefix("The user lives in ") for m in items]


@pytest.fixture
def moves(memos: MemOS) -> Moves:
    return Moves(memos)


@pytest.mark.parametrize(
    ("as_of", "known", "place"),
    [
        (None, None, "Berlin."),
        (None, 2, "Bergen."),
        (None, 1, "Oslo."),
        (None, 0, "Rome."),
        ("2023-04-01", None, "Turin."),  # told late
        ("2023-04-01", 2, "Rome."),  # before we knew
        ("2023-04-01", 3, "Turin."),
        ("2024-03-01", 3, "Bergen."),  # what we believed before the correction
        ("2024-03-01", 4, "Berlin."),
        ("2024-03-01", None, "Berlin."),
        ("2023-07-01", None, "Oslo."),
        ("2023-02-01", None, "Rome."),
        ("2022-01-01", None, None),
    ],
)
def test_what_was_true_when_by_what_we_knew_when(
    moves: Moves, as_of: str | None, known: int | None, place: str | None
) -> None:
    assert moves.home(as_of, known) == ([] if place is None else [place])


def test_search_sees_by_both_clocks_too(moves: Moves) -> None:
    def facts(**clocks: Any) -> set[str]:
        return {f.text for f in moves.memos.search("Where do I live?", kinds=["profile"], **clocks)
                for f in (f.memory,)}  # fmt: skip

    assert facts() == {"The user lives in Berlin."}
    assert facts(as_of="2023-07-01") == {"The user lives in Oslo."}
    assert facts(as_of="2023-04-01", known_at=moves.knew[2]) == {"The user lives in Rome."}
    assert facts(as_of="2023-04-01") == {"The user lives in Turin."}
    assert facts(known_at=moves.knew[3]) == {"The user lives in Bergen."}
    assert len(facts(include_superseded=True)) == 4


def test_a_record_is_known_from_when_it_came_and_true_from_when_it_was_said(moves: Moves) -> None:
    memos, turin = moves.memos, moves.ids[3]
    with pytest.raises(NotFound):
        memos.get(turin, known_at=moves.knew[2])
    with pytest.raises(NotFound):
        memos.get(turin, as_of="2023-01-15")
    assert memos.get(turin, as_of="2023-04-01", known_at=moves.knew[3]).text == "I moved to Turin."
    assert memos.get(moves.ids[2], known_at=moves.knew[3]).text == "I moved to Bergen."
    assert memos.get(moves.ids[2]).text == "I moved to Berlin."


def test_links_are_seen_as_they_were_known(moves: Moves) -> None:
    memos, bergen = moves.memos, moves.ids[2]

    def names(known_at: datetime | None = None) -> set[str]:
        links = memos.neighbors(bergen, types=["MENTIONS"], direction="out", known_at=known_at)
        return {memos.get(link.edge.dst).text for link in links}

    assert (names(), names(moves.knew[3]), names(moves.knew[1])) == ({"Berlin"}, {"Bergen"}, set())


def test_what_a_clock_cannot_be_is_an_input_error(memos: MemOS) -> None:
    for clock in ("as_of", "known_at"):
        for bad in ("soon", float("nan"), 1e300, "05/06/2024"):
            with pytest.raises(InvalidInput):
                memos.list(**{clock: bad})


# -- lists -------------------------------------------------------------------------------------------------------------


def test_pages_are_complete_while_somebody_writes(memos: MemOS) -> None:
    first = [memos.add(f"message number {i} of the first lot").ids[0] for i in range(60)]
    stop = threading.Event()

    def write() -> None:
        n = 0
        while not stop.is_set():
            memos.add(f"a newcomer with number {n} comes in between")
            memos.update(first[n % 60], tags=[f"t{n}"])
            n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for newest_first in (True, False):
            seen: list[str] = []
            cursor = None
            for _ in range(40):
                page = memos.list(kinds=["trace"], limit=7, cursor=cursor, newest_first=newest_first)
                seen += [m.id for m in page.items]
                cursor = page.cursor
                if cursor is None or (newest_first and first[0] in seen) or (not newest_first and first[-1] in seen):
                    break
            assert len(seen) == len(set(seen))
            assert set(first) <= set(seen)
            assert seen == sorted(seen, reverse=newest_first)
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": -1}, {"limit": 10**9}, {"limit": 1.5}, {"limit": "5"}, {"limit": None},
                                     {"limit": True}, {"cursor": "x"}, {"cursor": ""}, {"kinds": ["nope"]}, {"kinds": 5},
                                     {"filter": {}}, {"filter": {"nope": 1}}])  # fmt: skip
def test_bad_lists_are_refused(memos: MemOS, options: dict[str, Any]) -> None:
    memos.add("a message to be listed")
    with pytest.raises(InvalidInput):
        memos.list(**options)


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"tags": "a"}, {"one", "two"}),
    ({"tags": {"contains": ["a", "b"]}}, {"two"}),
    ({"session": "s2"}, {"three"}),
    ({"session_id": {"ne": "s2"}}, {"one", "two"}),
    ({"info.nr": {"gte": 2, "lt": 3}}, {"two"}),
    ({"info.nr": {"exists": False}}, {"three"}),
    ({"and": [{"memory_type": "LongTermMemory"}, {"text": {"like": "THREE"}}]}, {"three"}),
    ({"or": [{"message_id": "m1"}, {"speaker": "Bo"}]}, {"one", "three"}),
    ({"not": {"tags": "a"}}, {"three"}),
    ({"created_at": {"gte": "2020-01-01"}, "type": "trace"}, {"one", "two", "three"}),
    ({"happened_at": {"gte": "2024-01-02", "lte": "2024-01-03"}}, {"two"}),
    ({"happened_at": {"lt": "2024-01-01T12:00:00+01:00"}}, {"one"}),
    ({"role": {"in": ["user"]}}, {"one", "two"}),
    ({"origin": {"nin": ["user"]}}, {"three"}),
]  # fmt: skip


@pytest.fixture
def three(memos: MemOS) -> dict[str, str]:
    one, two = memos.add(
        [
            said("2024-01-01", "This is record one of them", message_id="m1", info={"nr": 1}, name="Ann"),
            said("2024-01-02", "This is record two of them", info={"nr": 2}, name="Ann"),
        ],
        session="s1",
        tags=["a"],
    ).ids
    memos.update(two, tags=["a", "b"])
    (third,) = memos.add(
        {"role": "assistant", "name": "Bo", "content": "This is record three of them", "chat_time": "2024-01-04"},
        session="s2",
    ).ids
    return {one: "one", two: "two", third: "three"}


@pytest.mark.parametrize(("where", "expected"), FILTERS)
def test_filters_mean_the_same_in_list_search_and_delete(
    memos: MemOS, three: dict[str, str], where: dict[str, Any], expected: set[str]
) -> None:
    listed = {three[m.id] for m in memos.list(filter=where).items if m.id in three}
    found = {three[h.id] for h in memos.search("record of them", filter=where) if h.id in three}
    assert listed == found == expected
    memos.delete(filter={"and": [where, {"kind": "trace"}]})
    assert {three[m.id] for m in memos.list(kinds=["trace"]).items} == set(three.values()) - expected


def test_kinds_narrow_lists_and_searches(memos: MemOS) -> None:
    memos.add(["I live in Rome.", "I like chess very much."], wait=True)
    assert {m.kind for m in memos.list().items} == {Kind.TRACE, Kind.PROFILE, Kind.PREFERENCE, Kind.ENTITY}
    assert {m.text for m in memos.list(kinds="preference").items} == {"The user likes chess."}
    assert {m.kind for m in memos.list(kinds=[Kind.PROFILE, "preference"]).items} == {Kind.PROFILE, Kind.PREFERENCE}
    assert {h.memory.kind for h in memos.search("chess", kinds=["preference"])} == {Kind.PREFERENCE}
    assert [h.memory.text for h in memos.search("Rome", kinds=["entity"])] == ["Rome"]
    assert memos.list(kinds=[]).items == ()


def test_inactive_memories_are_listed_on_request_with_their_status(memos: MemOS) -> None:
    memos.add([said("2024-01-01", "I live in Rome."), said("2024-02-01", "I live in Oslo.")], wait=True)
    statuses = {m.text: m.status for m in memos.list(kinds=["profile"], include_inactive=True).items}
    assert statuses == {"The user lives in Rome.": Status.SUPERSEDED, "The user lives in Oslo.": Status.ACTIVE}
    assert [m.text for m in memos.list(kinds=["profile"]).items] == ["The user lives in Oslo."]


# -- neighbours and numbers --------------------------------------------------------------------------------------------


def test_walks_go_as_deep_as_asked(memos: MemOS) -> None:
    a, b = memos.add(["I live in Rome with Carla.", "Carla came to Rome by train."], wait=True).ids
    one = memos.neighbors(a)
    assert {link.depth for link in one} == {1}
    two = memos.neighbors(a, depth=2)
    assert b in {link.edge.src for link in two if link.depth == 2}
    assert [link.depth for link in two] == sorted(link.depth for link in two)
    assert memos.neighbors(a, direction="out", types=["MENTIONS"])[0].edge.src == a
    assert len(memos.neighbors(a, limit=1)) == 1


@pytest.mark.parametrize("options", [{"depth": 0}, {"depth": "2"}, {"depth": 1.5}, {"depth": 10**9}, {"limit": 0}, {"limit": 10**30}, {"direction": "up"}, {"types": ["nope"]}, {"types": 5}])  # fmt: skip
def test_bad_walks_are_refused(memos: MemOS, options: dict[str, Any]) -> None:
    (id,) = memos.add("I live in Rome.", wait=True).ids
    with pytest.raises(InvalidInput):
        memos.neighbors(id, **options)


def test_stats_count_what_is_there_and_what_waits(memos: MemOS) -> None:
    ids = memos.add(["I live in Rome.", "I like chess very much."]).ids
    stats = memos.stats()
    assert (stats.cube, stats.embedder, stats.waiting["digest"]) == ("default", None, 2)
    assert (stats.store.memories, dict(stats.store.by_kind), stats.store.vectors) == (2, {"trace": 2}, {})
    memos.flush()
    memos.delete(ids[1], hard=False)
    stats = memos.stats()
    assert stats.waiting.get("digest", 0) == 0
    assert dict(stats.store.by_kind) == {"trace": 2, "profile": 1, "preference": 1, "entity": 1}
    assert dict(stats.store.by_status) == {"active": 3, "retracted": 2}
    assert (stats.store.memories, stats.store.versions) == (5, 7)
    assert stats.store.disk_bytes > 0 and stats.bytes_per_memory == stats.store.disk_bytes / 5
