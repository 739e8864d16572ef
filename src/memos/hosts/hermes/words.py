"""Reads what Hermes hands over of a turn, in the shape of OpenAI's chat messages: its calls, what came of them, and its reply."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from memos.moving.transcript import MOST_OUTPUT, MOST_TEXT, fit, fitted, parsed, portions, text_of

_FENCED = re.compile(r"<\s*memory-context\s*>.*?(?:</\s*memory-context\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_SHELL, DELEGATE = "terminal", "delegate_task"
_OWN = ("memos_", "memory")  # our tools, and the host's memory, whose writes are told in a hook of their own


@dataclass(frozen=True, slots=True)
class Lived:
    """What an agent did in a turn: `steps` as `end_turn` takes them, in order; `said`: what it wrote beside its calls."""

    steps: tuple[dict[str, Any], ...] = ()
    said: tuple[str, ...] = ()

    def batches(self) -> list[list[dict[str, Any]]]:
        """The steps in portions that one report holds."""
        return list(portions(self.steps))


def clean(text: Any) -> str:
    """What somebody wrote, without what memory had put before it; of a long text the beginning and the end."""
    words = text if isinstance(text, str) else text_of(text)
    return fit(_FENCED.sub("", words), MOST_TEXT).strip()


def lived(messages: Any, user: str, reply: str | None, *, delegated: bool = False) -> Lived:
    """What happened between a user's message and the reply to it. `reply` None: it has not come yet. `delegated`: sub-agents were
    reported already. The host may go on with its list of messages meanwhile, so that the turn is looked for in it.
    """
    if not isinstance(messages, list):
        return Lived()
    found = [m for m in list(messages) if isinstance(m, dict)]
    starts = [n for n, m in enumerate(found) if m.get("role") == "user"]
    same = [n for n in starts if clean(m_text(found[n])) == user]
    turns = [_turn(found[start + 1 :], reply) for start in reversed(same or starts[-1:])]
    whole = [turn for turn, ended in turns if ended] or [turn for turn, _ in turns]
    if not whole:
        return Lived()
    beside = (clean(m_text(m)) for m in whole[0] if m.get("role") == "assistant" and m.get("tool_calls"))
    return Lived(tuple(_steps(whole[0], delegated)), tuple(text for text in beside if text))


def m_text(message: dict[str, Any]) -> str:
    """The words of a message."""
    return text_of(message.get("content"))


def _turn(rest: list[dict[str, Any]], reply: str | None) -> tuple[list[dict[str, Any]], bool]:
    """The messages of a turn, and whether its reply was found."""
    if reply is None:
        return rest, True
    for n, message in enumerate(rest):
        if message.get("role") == "assistant" and not message.get("tool_calls") and clean(m_text(message)) == reply:
            return rest[:n], True
    return rest, False


def _steps(turn: list[dict[str, Any]], delegated: bool) -> list[dict[str, Any]]:
    out, met = [], Counter[str]()
    for at, message in enumerate(turn):
        calls = message.get("tool_calls")
        results = _results(turn[at + 1 :]) if calls else {}
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict) or not isinstance(function.get("name"), str):
                continue
            name, id = function["name"], str(call.get("id") or call.get("call_id") or "")
            if name.startswith(_OWN[0]) or name == _OWN[1] or (delegated and name == DELEGATE):
                continue
            met[id] += 1  # some models number their calls anew in every message
            out.append(
                _step(name, f"{id}#{met[id]}" if met[id] > 1 else id, function.get("arguments"), results.get(id))
            )
    return out


def _results(rest: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The results of the calls of one message, by id: they follow it."""
    out: dict[str, dict[str, Any]] = {}
    for message in rest:
        if message.get("role") == "assistant":
            break
        if message.get("role") == "tool":
            out.setdefault(str(message.get("tool_call_id")), message)
    return out


def _step(name: str, id: str, arguments: Any, result: dict[str, Any] | None) -> dict[str, Any]:
    given = parsed(arguments)
    tool, input = name, fitted(given)
    if name == _SHELL and isinstance(given, dict) and isinstance(given.get("command"), str):
        tool, input = "Bash", fit(given["command"], MOST_OUTPUT)  # as other hosts name it, so that policies are shared
    step: dict[str, Any] = {"tool": tool[:128], "input": input, "call_id": id}
    if result is not None:
        _end(step, _FENCED.sub("", m_text(result)))
    return {key: value for key, value in step.items() if value is not None}


def _end(step: dict[str, Any], words: str) -> None:
    """How a call ended, as far as its result tells: most tools of Hermes answer with an object."""
    told = parsed(words)
    if not isinstance(told, dict):
        failed = words.startswith("Error executing tool")
        step["error" if failed else "output"] = fit(words, MOST_OUTPUT)
        step["ok"] = False if failed else None
        return
    code, error = told.get("exit_code"), told.get("error")
    output = told["output"] if isinstance(told.get("output"), str) else ""
    if isinstance(code, int) and not isinstance(code, bool) and code != 0:
        said = "\n".join(filter(None, (f"Exit code {code}", output, error if isinstance(error, str) else "")))
        step |= {"error": fit(said, MOST_OUTPUT), "ok": False}
    elif error or told.get("success") is False:
        said = error if isinstance(error, str) and error else json.dumps(fitted(told), ensure_ascii=False)
        step |= {"error": fit(said, MOST_OUTPUT), "ok": False}
    else:
        plain = output if code == 0 and output else json.dumps(fitted(told), ensure_ascii=False)
        step |= {"output": fit(plain, MOST_OUTPUT), "ok": True}
