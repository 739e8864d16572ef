"""Takes over from a host's transcript what was not reported as it happened: messages, steps and replies, each once."""

from __future__ import annotations

import os

from memos.hosts.reach import Memory, Refused
from memos.hosts.session import Session, digest
from memos.moving.transcript import MOST_TEXT, OWN_TOOLS, SUBAGENTS, Call, Turn, fit, helper_turn, portions, turns

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest of this
if TYPE_CHECKING:
    from typing import Any

_MOST_STEPS = 1_000  # of one sub-agent
let_go: list[str] = []
"""The verbs that were refused in this run, which the hook says on stderr."""


def key_of(id: str, text: str) -> str:
    """The key under which a message is reported: the same from the hook that is told of it, and from the transcript."""
    return f"{id}:{digest(text)}"


def take_over(
    memory: Memory, session: Session, who: dict[str, Any], *, before: tuple[str, str] | None = None, over: bool = False
) -> None:
    """Report what the transcript of a session holds after what was taken over already.

    `who`: the fields that say whose it is. `before`: (id, text) of a message that is about to be reported; what follows it
    is left. `over`: nothing more comes, so that calls without a result are reported as they are. Raises Away; what was taken
    over by then is not taken again.
    """
    path = session.transcript
    if not path or not os.path.isfile(path):
        return
    found, end = turns(session.host, path, session.offset)
    known = _imported(memory, session, who, found, before)
    for number, turn in enumerate(found):
        at = None
        if known is not None and turn.at and (time := _time(turn.at)) is not None and time <= known:
            session.offset = turn.end
            continue
        if turn.text is not None:
            if before is not None and _is(turn, before):
                return
            at = _begin(memory, session, who, turn)
        cut = None if over or number < len(found) - 1 else _waiting(turn)
        _end(memory, session, who, turn, at, cut)
        session.offset = turn.end if cut is None else cut
        session.save()
        if cut is not None:
            return
    session.offset = end


def _imported(
    memory: Memory, session: Session, who: dict[str, Any], found: list[Turn], before: tuple[str, str] | None
) -> float | None:
    """Until when `memos import` brought the turns of a session that is met here for the first time; None for a new one."""
    if session.offset or session.turn or not found or (before is not None and _is(found[0], before)):
        return None
    last = memory.imported(who)
    return None if last is None else _time(last)


def _time(said: str) -> float | None:
    from datetime import datetime  # not for every hook

    try:
        return datetime.fromisoformat(said).timestamp()
    except ValueError:
        return None


def _is(turn: Turn, message: tuple[str, str]) -> bool:
    """Whether a turn begins with a message (id, text). A command (`/review`) may stand in the transcript in other words."""
    (id, text), said = message, turn.text or ""
    same = digest(said) == digest(text)
    return turn.key == id and (same or said.startswith("/")) if id and turn.key else same


def _begin(memory: Memory, session: Session, who: dict[str, Any], turn: Turn) -> str | None:
    """Report the message of a turn unless it was; when it was missed, when it was said."""
    text = turn.text or ""
    known = _reported(session, turn.key, text)
    if known is not None:
        session.turn = known
        return None
    key = key_of(turn.key or f"{session.id}@{turn.start}", text)
    if fit(text, MOST_TEXT).strip():
        _told(memory, "start_turn", {**who, "text": fit(text, MOST_TEXT), "key": key, "recall": False, "at": turn.at})
    session.turn, session.reply = key, ""
    return turn.at


def _reported(session: Session, id: str, text: str) -> str | None:
    """The key under which a message was reported by a hook; each is found once."""
    mark = digest(text)
    for one in session.unseen:
        if one[1] == mark or (id and one[0].startswith(f"{id}:") and text.startswith("/")):
            session.unseen.remove(one)
            return one[0]
    return None


def _waiting(turn: Turn) -> int | None:
    """Where the first call begins whose result is not there yet."""
    return next((call.start for call in turn.calls if not call.done), None)


def _end(memory: Memory, session: Session, who: dict[str, Any], turn: Turn, at: str | None, cut: int | None) -> None:
    """Report the steps and the reply of a turn, as far as they are not reported."""
    calls = [c for c in turn.calls if (cut is None or c.start < cut) and _wanted(session, c)]
    said: list[tuple[str, str]] = []
    for id, text, start in turn.said:
        if cut is not None and start >= cut:
            continue
        if digest(text) in session.ahead:
            session.ahead.remove(digest(text))
        elif not said or said[-1][1] != text:
            said.append((id, text))
    place = {name: value for name, value in who.items() if name not in ("environment", "max_tokens")}
    calls = _missed_helpers(memory, session, place, calls)
    for steps in portions(call.fields() for call in calls):
        _told(
            memory,
            "end_turn",
            {**place, "steps": steps, "key": f"{session.turn}:steps:{steps[-1]['call_id']}", "at": at},
        )
    if said:
        text = "\n\n".join(words for _, words in said)
        fields = {**place, "text": fit(text, MOST_TEXT), "key": f"{session.turn}:end:{said[-1][0]}", "at": at}
        if fields["text"].strip():
            _told(memory, "end_turn", fields)
        session.reply = digest(said[-1][1])
    met = {call.id for call in turn.calls}
    session.calls = [id for id in session.calls if id not in met]


def helper_run(host: str, path: str, id: str, kind: str, reply: str) -> dict[str, Any] | None:
    """What a sub-agent was asked, did and answered, as the verb takes it; None when its transcript is not there."""
    turn = helper_turn(host, path) if path else None
    if turn is None or not turn.text:
        return None
    result = fit(reply if reply.strip() else "\n\n".join(said[1] for said in turn.said[-1:]), MOST_TEXT)
    last = (call.fields() for call in reversed(turn.calls) if not call.tool.startswith(OWN_TOOLS))
    steps = next(portions(last, _MOST_STEPS), [])[::-1]
    run = {"task": fit(turn.text, MOST_TEXT), "name": kind[:100] or "subagent", "key": f"{id}:{digest(result)}"}
    return {**run, "steps": steps, **({"result": result} if result.strip() else {})}


def _missed_helpers(memory: Memory, session: Session, place: dict[str, Any], calls: list[Call]) -> list[Call]:
    """Report the sub-agents whose end no hook was told of, and give the other calls back."""
    rest = []
    folder = os.path.join(os.path.splitext(session.transcript)[0], "subagents")
    for call in calls:
        run = None
        if call.tool in SUBAGENTS and call.helper and call.helper.isalnum():
            kind = call.input.get("subagent_type") if isinstance(call.input, dict) else ""
            run = helper_run(
                session.host, os.path.join(folder, f"agent-{call.helper}.jsonl"), call.helper, str(kind or ""), ""
            )
        if run is None:
            rest.append(call)
        else:
            _told(memory, "report_subagent", {**place, **run})
            session.helpers.append(call.helper)
    return rest


def _wanted(session: Session, call: Call) -> bool:
    """Whether a call is still to be reported: not by a hook before, not as a sub-agent, and not one of our own tools."""
    if call.id in session.calls or call.tool.startswith(OWN_TOOLS):
        return False
    return not (call.tool in SUBAGENTS and call.helper in session.helpers)


def _told(memory: Memory, verb: str, fields: dict[str, Any]) -> None:
    """Tell something; what is refused for what it is would be refused again, and is let go."""
    try:
        memory.tell(verb, {name: value for name, value in fields.items() if value is not None})
    except Refused:
        let_go.append(verb)
