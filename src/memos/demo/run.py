"""Running the demo: the conversation goes in, the questions are answered, then something is explained, changed, undone
and deleted. Every figure shown is measured in the run that shows it.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memos.demo import show
from memos.demo.conversation import Conversation, Question, conversation
from memos.memory.hit import Explanation, Hit, SearchResult
from memos.memory.model import Memory, Version
from memos.results import DeleteResult, Stats
from memos.sync import MemOS

if TYPE_CHECKING:
    from rich.console import Console

LIMIT = 5
BUDGET = 250  # tokens of context for each answer
MISSED = ("What time does the flight to Lisbon leave?", "m51")  # a question, and a message that speaks of it too
CHANGED = ("m07", "My cat is called Tofu. She is grey, five years old and afraid of the bread van.")
DELETED = "m30"


@dataclass(frozen=True, slots=True)
class Stored:
    """What adding the conversation did. Times in seconds; `digested` is how long facts and vectors took after it."""

    messages: int
    sessions: int
    stored: float
    digested: float
    stats: Stats


@dataclass(frozen=True, slots=True)
class Answer:
    """A question of the demo with its answer. `expected_at`: the ranks of the messages that answer it."""

    question: Question
    result: SearchResult
    milliseconds: float
    expected_at: tuple[int | None, ...]

    @property
    def saved(self) -> float:
        """The share of tokens saved against sending the whole history, 0 to 1."""
        return 1 - self.result.tokens / self.result.history_tokens if self.result.history_tokens else 0.0


@dataclass(frozen=True, slots=True)
class Edited:
    """A memory as it was changed, all its versions after the change was undone, and as it is then."""

    changed: Memory
    versions: tuple[Version, ...]
    undone: Memory


@dataclass(frozen=True, slots=True)
class Deleted:
    """A hard delete: what would go, what went, which facts are true again, and whether a search still finds it."""

    memory: Memory
    would: DeleteResult
    done: DeleteResult
    restored: tuple[Memory, ...]
    still_found: bool


@dataclass(frozen=True, slots=True)
class Report:
    """Everything the demo did."""

    stored: Stored
    answers: tuple[Answer, ...]
    missed: Explanation
    edited: Edited
    deleted: Deleted


def run(console: Console, home: Path | None = None, *, embedder: str | None = None) -> Report:
    """Run the demo in a temporary folder, or in `home`, where the cube `memos-demo` stays. Prints as it goes."""
    with _folder(home) as folder, MemOS(folder, embedder=embedder, background=False) as memos:
        talk = conversation()
        stored, ids = _store(memos, talk)
        show.stored(console, stored)
        answers = []
        for number, question in enumerate(talk.questions, 1):
            answers.append(_ask(memos, talk, question))
            show.answer(console, number, answers[-1])
        show.summary(console, answers)
        missed = _explain(memos, talk, ids)
        show.missed(console, missed, memos.get(missed.memory_id, user=talk.user))
        edited = _edit(memos, talk, ids)
        show.edited(console, edited)
        deleted = _delete(memos, talk, ids)
        show.deleted(console, deleted)
    return Report(stored, tuple(answers), missed, edited, deleted)


@contextlib.contextmanager
def _folder(home: Path | None) -> Iterator[Path]:
    if home is not None:
        yield home
        return
    with tempfile.TemporaryDirectory(prefix="memos-demo-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _store(memos: MemOS, talk: Conversation) -> tuple[Stored, dict[str, str]]:
    """Add the sessions; returns what that did, and the memory id of each message id (of its first part)."""
    ids: dict[str, str] = {}
    start = time.perf_counter()
    for session in talk.sessions:
        for record in memos.add(list(session.messages), user=talk.user, session=session.name):
            ids[record.id] = record.id
    stored = time.perf_counter() - start
    memos.flush(user=talk.user)
    digested = time.perf_counter() - start - stored
    found = {
        m.message_id: m.id for m in reversed([memos.get(i, user=talk.user) for i in ids]) if m.message_id is not None
    }
    return Stored(len(talk.messages), len(talk.sessions), stored, digested, memos.stats(user=talk.user)), found


def _ask(memos: MemOS, talk: Conversation, question: Question) -> Answer:
    start = time.perf_counter()
    result = memos.search(
        question.text,
        user=talk.user,
        as_of=question.as_of,
        reference_time=talk.asked_on,
        limit=LIMIT,
        max_tokens=BUDGET,
    )
    spent = (time.perf_counter() - start) * 1e3
    return Answer(question, result, spent, tuple(rank_of(result.hits, e) for e in question.evidence))


def rank_of(hits: tuple[Hit, ...], message_id: str) -> int | None:
    """The rank of the first hit that is a message or rests on it."""
    for hit in hits:
        if message_id in {hit.memory.message_id, *(s.message_id for s in hit.memory.sources)}:
            return hit.rank
    return None


def _explain(memos: MemOS, talk: Conversation, ids: dict[str, str]) -> Explanation:
    question, message = MISSED
    return memos.explain(question, ids[message], user=talk.user, reference_time=talk.asked_on, limit=LIMIT)


def _edit(memos: MemOS, talk: Conversation, ids: dict[str, str]) -> Edited:
    message, text = CHANGED
    changed = memos.update(ids[message], text=text, user=talk.user, cause="she is five, as m36 says")
    memos.undo(changed.id, user=talk.user)
    return Edited(changed, tuple(memos.history(changed.id, user=talk.user)), memos.get(changed.id, user=talk.user))


def _delete(memos: MemOS, talk: Conversation, ids: dict[str, str]) -> Deleted:
    memory = memos.get(ids[DELETED], user=talk.user)
    would = memos.delete(memory.id, dry_run=True, user=talk.user)
    done = memos.delete(memory.id, user=talk.user)
    restored = tuple(memos.get(i, user=talk.user) for i in done.restored)
    again = memos.search(memory.text, user=talk.user, limit=100)
    return Deleted(memory, would, done, restored, any(memory.id == h.id for h in again.hits))
