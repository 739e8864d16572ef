"""C. Isolation across users."""

from __future__ import annotations

import base64
import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS, MemOS
from memos.errors import AccessDenied, InvalidFilter, InvalidInput, NotFound
from memos.memory.ids import new_id

SECRET = "FENNEL-31"
PICTURE = (
    base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    + SECRET.encode()
)
OF_NOBODY = {
    "close",
    "start",
    "health",
    "usage",
    "judge",
    "owner_of",
    "locate",
    "chat_model",
    "chat_models",
}  # they act for no user, and show no memory
VERBS = sorted(
    n
    for n, f in inspect.getmembers(AsyncMemOS, inspect.iscoroutinefunction)
    if not n.startswith("_") and n not in OF_NOBODY
)


@pytest.fixture
def memos(home: Path) -> Iterator[MemOS]:
    """One that has a language model, which tells everything it is shown."""
    parrot = ScriptedModel(lambda request: "\n".join(m.content for m in request.messages if isinstance(m.content, str)))
    with MemOS(home, embedder="none", background=False, llm=parrot, reading="fast") as made:
        yield made


@pytest.fixture
def alpha(memos: MemOS) -> dict[str, Any]:
    """What alpha keeps, as the arguments with which somebody else might ask for it."""
    (id,) = memos.add(f"The code of the safe is {SECRET}. I live in Rome.", user="alpha", wait=True).ids
    fact = memos.list(kinds=["fact"], user="alpha").items[0].id
    seen = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"}}
    memos.add({"role": "user", "content": [{"type": "text", "text": "Look."}, seen]}, user="alpha")
    ref = f"sha256:{hashlib.sha256(PICTURE).hexdigest()}"
    assert SECRET in repr(memos.image(ref, user="alpha"))
    return {
        "id": id, "memory_id": fact, "ids": [id, fact], "cube": "alpha", "name": "alpha", "cubes": ["alpha"], "ref": ref,
    }  # fmt: skip


def arguments(verb: str, alpha: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Everything a verb needs, filled with what is alpha's. A verb with a new kind of parameter must be taught here."""
    known = {**alpha, "messages": "hello from beta to alpha", "query": "code of the safe", "path": folder / "x.zip",
             "with_user": "beta", "text": "changed by beta", "data": b"a file of beta's", "record": "r1",
             "entity": alpha["memory_id"], "keep": alpha["memory_id"], "other": alpha["id"], "rules": [{"max_age_days": 1}],
             "changes": {"description": "changed by beta"}, "source": b"---\nname: of-beta\ndescription: beta's\n---\nDo it.\n",
             "to": "alpha", "tool": "shell", "task": "look into the safe", "state": "retired", "score": 1.0, "zip": True}  # fmt: skip
    needed = inspect.signature(getattr(AsyncMemOS, verb)).parameters
    missing = [n for n, p in needed.items() if n != "self" and p.default is p.empty and n not in known]
    assert not missing, f"{verb} needs {missing}: teach this test what of alpha's to ask for"
    wanted = [
        n for n, p in needed.items() if n in known and (p.default is p.empty or n in ("ids", "text", "score", "zip"))
    ]
    return {n: known[n] for n in wanted}


@pytest.mark.parametrize("verb", VERBS)
def test_r047_no_verb_reaches_another_users_memories(
    memos: MemOS, alpha: dict[str, Any], tmp_path: Path, verb: str
) -> None:
    """Isolation holds in one search endpoint and not in its sibling."""
    before = [memos.history(m.id, user="alpha") for m in memos.list(user="alpha", include_inactive=True).items]
    given = arguments(verb, alpha, tmp_path)
    takes = inspect.signature(getattr(AsyncMemOS, verb)).parameters
    ways: list[dict[str, Any]] = [given]
    ways += [{**given, way: alpha[way]} for way in ("cube", "cubes") if way in takes]
    for way in ways:
        try:
            answer = getattr(memos, verb)(**way, user="beta")
        except (NotFound, AccessDenied, InvalidInput) as error:
            answer = error
        named = "cube" in way or "cubes" in way
        assert not named or isinstance(answer, NotFound), f"{verb} opened alpha's cube for beta"
        assert SECRET not in repr(answer) and (isinstance(answer, Exception) or alpha["id"] not in repr(answer)), verb
    after = [memos.history(m.id, user="alpha") for m in memos.list(user="alpha", include_inactive=True).items]
    assert after == before
    assert not any(SECRET.encode() in f.read_bytes() for f in tmp_path.glob("*.zip"))


def test_r047_a_foreign_id_and_one_that_never_was_get_the_same_answer(memos: MemOS, alpha: dict[str, Any]) -> None:
    """An answer tells whether an id of another user exists."""
    memos.add("something of beta's own", user="beta")
    said = set()
    for id in (alpha["id"], new_id()):
        with pytest.raises(NotFound) as error:
            memos.get(id, user="beta")
        said.add(str(error.value).replace(id, "ID"))
    assert len(said) == 1


def test_r049_a_small_tenant_finds_its_few_beside_one_with_thousands(memos: MemOS) -> None:
    """The best k are taken over everybody and filtered by tenant afterwards."""
    lot = [{"role": "user", "content": f"Tea of kind {i} is good tea, tea", "message_id": str(i)} for i in range(5_000)]
    memos.add(lot, user="big", session="big", derive=False)
    for cube, options in (("small", {}), ("big", {"filter": {"session": "small"}})):
        memos.add(
            [f"I had some tea with guest number {i} today" for i in range(3)], user=cube, session="small", derive=False
        )
        assert len(memos.search("tea", user=cube, limit=5, **options)) == 3


@pytest.mark.parametrize("where", [{"owner": {"regexish": "a"}}, {"owner": {"$nope": 1}}, {"owner": {}}, {"tenant": "a"}, {"$where": "1"},
                                   {"owner": {"eq": {"a": 1}}}, {"and": []}, {"or": {}}, [], "owner=a", {"info.": 1}])  # fmt: skip
@pytest.mark.parametrize("verb", ["search", "list", "delete", "explain"])
def test_r054_a_filter_that_is_not_understood_is_an_error_naming_it(memos: MemOS, where: Any, verb: str) -> None:
    """An unknown operator is taken to match everything."""
    (id,) = memos.add("The kayak is teal and long").ids
    call = {
        "search": lambda: memos.search("kayak", filter=where),
        "list": lambda: memos.list(filter=where),
        "delete": lambda: memos.delete(filter=where),
        "explain": lambda: memos.explain("kayak", id, filter=where),
    }[verb]
    with pytest.raises(InvalidFilter) as error:
        call()
    for named in ("regexish", "$nope", "tenant", "$where"):
        assert named not in repr(where) or named in str(error.value)
    assert memos.get(id).id == id
