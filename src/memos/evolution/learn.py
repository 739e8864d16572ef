"""Learning from one closed episode, in one change: what it and its steps were worth, what it teaches, what came of what was
handed out in it, and what follows for policies, the world and skills.

All of it is made from rows and counted anew, never added to: learning twice, again after a crash, or again when feedback comes
late ends in the same state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memos.evolution import repair
from memos.evolution.case import Case
from memos.evolution.episodes import ongoing
from memos.evolution.policies import policies, settling
from memos.evolution.skills import skills
from memos.evolution.value import credit, trials
from memos.evolution.value.reward import reward
from memos.evolution.world import world
from memos.memory.episode import Episode
from memos.storage.sqlite import lived, memo

if TYPE_CHECKING:
    import apsw


MOST_TRIALS = 1_000
AT_ONCE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of learning from an episode: its reward, and whether anything is new about it."""

    episode: str
    reward: float | None
    confidence: float
    news: bool


class CaseBuilder:
    """Reads an episode as learning sees it, and values it."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def case(self, id: str) -> Case | None:
        """A closed episode, valued; None when it does not exist or is going on."""
        found = lived.episode(self._db, id)
        return None if found is None or found.is_open else self.of(found)

    def of(self, episode: Episode) -> Case:
        """An episode, valued as if it were over."""
        steps = tuple(lived.steps(self._db, episode.id))
        signals = tuple(lived.signals(self._db, episode.id))
        handed = lived.trials(self._db, episode=episode.id, limit=MOST_TRIALS)
        worth = reward(steps, signals)
        values = {} if worth.value is None else credit.credits_of(steps, worth.value, signals)
        valued = tuple(
            replace(s, alpha=values[s.number].alpha, value=values[s.number].value) if s.number in values else s
            for s in steps
        )
        in_order = tuple(sorted(handed, key=lambda t: (t.handed_at, t.memory)))
        return Case(replace(episode, reward=worth.value), valued, signals, in_order, worth, values)


def learn_episode(tx: Any, id: str) -> Learned | None:
    """Learn from a closed episode, whole: see this module. None when it does not exist (any more) or is going on."""
    before = lived.episode(tx.db, id)
    if before is None or before.is_open:
        return None
    case = CaseBuilder(tx.db).of(before)
    lived.set_values(tx, {n: (c.alpha, c.value) for n, c in case.credits.items()}, id)
    worth = case.reward
    lived.set_reward(tx, id, worth.value, worth.confidence, tx.now)  # what is settled below counts this episode too
    with memo.reading(tx.db, tx.memo):
        touched = policies.learn(tx, case)
        tried = trials.resolve(tx, case)
        repair.settle(tx, case)
        settling.settle(tx, touched | tried)
        world.restate(tx, case, touched | tried)
        skills.settle(tx, touched | tried)
    news = before.learned_at is None or before.reward != worth.value
    if news:
        numbers = {"reward": worth.value, "confidence": round(worth.confidence, 4), "steps": before.steps}
        lived.tell(tx, "episode.valued", episode=id, numbers=numbers)
    return Learned(id, worth.value, worth.confidence, news)


def close_idle(tx: Any, before: datetime, limit: int = 100) -> list[str]:
    """Close the episodes in which nothing happened since, to be learned from at once; returns their ids."""
    return [id for id in lived.idle(tx.db, before, limit) if ongoing.close(tx, id, "gap", tx.now, AT_ONCE)]
