"""Experience, the world and facts as lines of an agent's block: what was done before and how it ended, what is known of the
environment, and what was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from memos.memory.acting import RecalledItem, Tier
from memos.memory.clock import shown_since
from memos.memory.episode import Episode, Step, StepRole, ToolUse
from memos.memory.hit import Hit
from memos.memory.learned import Action, WorldBody
from memos.memory.model import LAYER_OF, Layer, Memory
from memos.recall.agent_block import Candidate, mark
from memos.recall.elsewhere import Elsewhere
from memos.recall.lore import Entry
from memos.recall.pack import empty_reply, escape, line
from memos.text.applies import Situation, Words, most_alike
from memos.text.calls import call, clipped, counted
from memos.text.signature import telling_line

STEPS = 4  # of an episode that are shown
GOAL, ENDED, ERROR, COMMENT = 200, 160, 160, 120  # characters of each that are shown
LEAST_WORLD = 0.25  # likeness below which a statement about the environment is not shown
HERE = 0.3  # what a statement gains that is about the very environment
_SUCCESS, _FAILURE = 0.3, -0.2  # what an episode's rank gains by how it went


def episode_candidate(
    episode: Episode, steps: Sequence[Step], score: float, cube: str, zone: tzinfo, comment: str = ""
) -> Candidate | None:
    """A past task: what was asked, what was done in a few steps, and how it ended. `comment`: what was said of that. None for one
    of which nothing is left.
    """
    asked = next((s for s in steps if s.role is StepRole.USER), None)
    telling = _telling(steps)
    if asked is None or not (telling or episode.reward is not None or any(s.role is StepRole.ASSISTANT for s in steps)):
        return None  # nothing was done: words to remember, not a task
    head = (
        f"- {episode.opened_at.astimezone(zone):%Y-%m-%d} “{escape(clipped(episode.goal, GOAL))}”: {_outcome(episode)}, "
        f"{counted(episode.steps, 'step')}"
    )
    why = f" The comment on it: “{escape(clipped(comment.strip().rstrip('.。'), COMMENT))}”." if comment.strip() else ""
    tail = mark(Tier.EXPERIENCE, episode.id)
    said = "; ".join(map(_did, telling))
    ended = next((s.memory.text for s in reversed(steps) if s.role is StepRole.ASSISTANT), "")
    end = f" It said: “{escape(clipped(ended.strip().rstrip('.。'), ENDED))}”." if ended and not telling else ""
    text = f"{head}: {said}.{why} {tail}" if said else f"{head}.{end}{why} {tail}"
    rank = episode_rank(episode, score)
    item = RecalledItem(Tier.EXPERIENCE, asked.id, cube, text, max(0.0, min(1.0, score)), episode=episode.id)
    return Candidate(item, rank, (0.0, episode.id), short=f"{head}. {tail}" if said else None)


def episode_rank(episode: Episode, score: float) -> float:
    """How much a past task is worth showing: how alike it is (0 to 1), and how it went."""
    return score + (_SUCCESS if episode.outcome == "success" else _FAILURE if episode.outcome == "failure" else 0.0)


def step_candidate(step: Step, episode: str, rank: float, cube: str, zone: tzinfo) -> Candidate | None:
    """One call of a tool in the past, and what came of it."""
    if step.use is None:
        return None
    text = f"- {step.at.astimezone(zone):%Y-%m-%d} {_did(step)}. {mark(Tier.EXPERIENCE, step.id)}"
    item = RecalledItem(Tier.EXPERIENCE, step.id, cube, text, max(0.0, min(1.0, rank)), episode=episode)
    return Candidate(item, rank, (1.0, step.id))


def world_candidates(entries: Iterable[Entry[WorldBody]], now: Situation, asked: Words, cube: str) -> list[Candidate]:
    """The statements about the environment that have to do with what is asked; of another environment, none."""
    out = []
    for entry in entries:
        body = entry.body
        here = bool(now.environment) and body.environment == now.environment
        if body.environment and now.environment and not here:
            continue
        if now.error and body.section == "environment":  # what is there is no help where a call failed
            continue
        likeness = _of_subject(asked, entry)
        if likeness < LEAST_WORLD:
            continue
        sure = (1 + body.holds) / (2 + body.holds + body.fails)
        rank = likeness * sure + (HERE if here else 0.0)
        item = RecalledItem(Tier.WORLD, entry.id, cube, _statement(entry.memory, body), min(1.0, rank))
        out.append(Candidate(item, rank, (0.0, entry.id), says=() if body.edited else body.policies))
    return out


def fact_candidates(
    hits: Iterable[Hit], steps: frozenset[str], least: float, zone: tzinfo, elsewhere: Elsewhere | None = None
) -> list[Candidate]:
    """What was told and holds: the facts of each hit, or its own words; of steps of an agent, only the facts. Without what is
    said `elsewhere`.
    """
    elsewhere = elsewhere or Elsewhere()
    out: dict[str, Candidate] = {}
    for hit in hits:
        if hit.score < least or hit.stale:
            continue
        derived = LAYER_OF[hit.memory.kind] is Layer.DERIVED
        for fact in (*hit.facts, *((hit.memory,) if derived else ())):
            if elsewhere.says(fact):
                continue
            since = shown_since(fact, zone)
            said = f"- {escape(clipped(fact.text, 2 * GOAL))}{f' (since {since})' if since else ''} {mark(Tier.FACT, fact.id)}"
            out.setdefault(fact.id, _fact(fact, hit, said, 0.0))
        if (
            not derived
            and not hit.facts
            and hit.id not in steps
            and hit.memory.layer is Layer.TRACE
            and not empty_reply(hit.memory)
            and not elsewhere.says(hit.memory)
        ):
            said = line(hit, zone)
            said = f"{said if said.startswith('- ') else f'- {said}'} {mark(Tier.FACT, hit.id)}"
            out.setdefault(hit.id, _fact(hit.memory, hit, said, 1.0))
    return [*out.values()]


def _fact(memory: Memory, hit: Hit, text: str, place: float) -> Candidate:
    item = RecalledItem(Tier.FACT, memory.id, hit.cube, text, max(0.0, min(1.0, hit.score)))
    return Candidate(item, hit.score, (place, memory.id))


def _outcome(episode: Episode) -> str:
    word = {"success": "succeeded", "failure": "failed", "mixed": "mixed result"}.get(
        episode.outcome, "outcome unknown"
    )
    return word if episode.reward is None else f"{word} (reward {episode.reward:.1f})"


def _telling(steps: Sequence[Step]) -> list[Step]:
    """The calls that tell most: those that were worth most, for good or bad, in the order they were made."""
    used = [s for s in steps if s.use is not None]
    worth = sorted(used, key=lambda s: (-abs(s.value or 0.0), -s.number))[:STEPS]
    return sorted(worth, key=lambda s: s.number)


def _did(step: Step) -> str:
    use = step.use or ToolUse("")
    did = escape(call(Action(use.tool, use.input)))
    if use.failed:
        why = escape(clipped(telling_line(use.error or use.output), ERROR))
        return f"{did} failed: {why}" if why else f"{did} failed"
    return f"{did} worked" if use.ok else did


def _statement(memory: Memory, body: WorldBody) -> str:
    known = [f"in {escape(body.environment)}"] if body.environment else []
    if body.holds or body.fails:
        known.append(
            f"seen to hold {counted(body.holds, 'time')}" + (f", not to hold {body.fails}" if body.fails else "")
        )
    about = f" ({', '.join(known)})" if known else ""
    if body.edited:
        about = f" ({', '.join([*known[: 1 if body.environment else 0], 'written by a person'])})"
    return f"- [{escape(body.section)}] {escape(clipped(memory.text, 2 * GOAL))}{about} {mark(Tier.WORLD, memory.id)}"


def _of_subject(asked: Words, entry: Entry[WorldBody]) -> float:
    """How much a statement has to do with what is asked: by its words, or because what is asked names its subject."""
    subject = " ".join(entry.body.subject.split()).casefold()
    if subject and subject in asked.terms:
        return 1.0
    common = max((len(asked.terms & w.terms) for w in entry.words), default=0)
    return max(most_alike(asked, entry.words), 0.5 * common / len(asked.terms) if common > 1 else 0.0)
