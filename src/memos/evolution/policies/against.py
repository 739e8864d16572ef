"""Procedures that do what a user told an agent never to do. Only where words match plainly: each word of the directive (but those
that say nothing, such as "files") stands in one call of the procedure, or a command that does just that. English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from memos.evolution.policies.lessons import kind_of
from memos.memory.learned import Action, Form, PolicyBody, State
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import lived
from memos.text.analysis import analyze, is_stop
from memos.text.calls import calls_in
from memos.text.stem import stem_english
from memos.text.template import fill

AGAINST = "against"  # in the body of a policy: the id of the directive that it breaks
MOST = 1_000  # procedures of an owner that a new directive is held against

_COMMANDS = {  # what people say, and the commands that do it
    "delete remove erase wipe": "rm rmdir unlink shred del delete remove truncate drop rimraf",
    "kill": "kill pkill killall",
    "restart reboot": "restart reboot",
    "stop": "stop shutdown",
    "install": "install add",
    "uninstall": "uninstall remove purge",
    "download": "curl wget download",
}
_MEANS = {
    stem_english(said): frozenset(map(stem_english, did.split()))
    for of, did in _COMMANDS.items()
    for said in of.split()
}
_CHINESE = {
    "删除": "delete", "删掉": "delete", "清除": "delete", "移除": "delete", "日志": "log", "文件": "file", "重启": "restart",
    "停止": "stop", "安装": "install", "卸载": "uninstall", "下载": "download", "强制": "force", "推送": "push", "部署": "deploy",
    "数据库": "database", "备份": "backup", "使用": "use", "任何": "any", "目录": "directory", "的": " ", "用": "use",
}  # fmt: skip
_SAYS_NOTHING = """
use run call ever again always please file files thing things anything data any directory
"""
_EMPTY = frozenset(map(stem_english, _SAYS_NOTHING.split()))
_WORD = re.compile(r"[a-z]+|\d+")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_PARTS = re.compile(r"[;&|\n]+")


def breaks(body: PolicyBody, directive: PolicyBody) -> bool:
    """Whether a procedure does what a directive forbids: everywhere, and not only when something else is so."""
    if body.form not in (Form.FIX, Form.PATH) or not directive.avoid or directive.trigger:
        return False
    scope, _, of = directive.scope.partition(":")
    if scope not in ("all", "tool") or directive.state is State.RETIRED:
        return False
    actions = [a for a in body.procedure if a.tool and (scope == "all" or a.tool == of)]
    told = [" ".join(c.split()) for c in calls_in(directive.avoid)]
    if told:
        return any(c in " ".join(f"{a.tool} {a.input}".split()) for c in told for a in actions)
    words = _words(directive.avoid)
    return bool(words) and any(_does(a, words) for a in actions)


def broken(tx: Any, body: PolicyBody, owner: str) -> str | None:
    """The directive of an owner that a procedure breaks; None where there is none."""
    found = lived.directives_of_owner(tx.db, owner) if body.form in (Form.FIX, Form.PATH) else ()
    return next((m.id for m in found if breaks(body, PolicyBody.of(m))), None)


def breaking(tx: Any, directives: Iterable[Memory], owner: str) -> set[str]:
    """Mark the procedures of an owner that break one of these directives; returns their ids."""
    told = [(m.id, PolicyBody.of(m)) for m in directives]
    marked = set()
    for memory in lived.procedures_of_owner(tx.db, owner, MOST) if any(body.avoid for _, body in told) else ():
        body = PolicyBody.of(memory)
        against = next((id for id, directive in told if breaks(body, directive)), None)
        if against is not None:
            if memory.body.get(AGAINST) != against:
                tx.put(replace(memory, body={**memory.body, AGAINST: against}), "state")
            marked.add(memory.id)
    return marked


def why_against(tx: Any, memory: Memory) -> str | None:
    """What the user said that forbids what a policy does; None where nothing does, or it holds no more."""
    id = memory.body.get(AGAINST)
    told = tx.get(id) if isinstance(id, str) else None
    if told is None or told.kind is not Kind.POLICY or not breaks(PolicyBody.of(memory), PolicyBody.of(told)):
        return None
    return f"the user said: {' '.join(told.text.split())[:200]}"


def _words(said: str) -> frozenset[str]:
    """What a prohibition is about, as stems; none where a word of it is not understood."""
    for chinese, english in _CHINESE.items():
        said = said.replace(chinese, f" {english} ")
    if _HAN.search(said):
        return frozenset()
    plain = {t for t in analyze(said).terms if not t.startswith("=") and not is_stop(t)}
    return frozenset(plain - _EMPTY)


def _does(action: Action, words: frozenset[str]) -> bool:
    """Whether a call is what these words say. One word alone is that of a command, or of a tool."""
    text = fill(action.input, {}).lower()
    commands = {stem_english(action.tool.lower())}
    for part in _PARTS.split(text):
        run = part.removeprefix("sudo ").split()
        commands |= {stem_english(w) for w in run[:1]} | {stem_english(w) for w in run[1:2] if w.isalpha()}
        commands |= {"sudo"} if part.strip().startswith("sudo ") else set()
    commands |= {stem_english(w) for w in kind_of(action.tool, action.input).lower().split()[:2]}
    if len(words) == 1:
        (only,) = words
        return bool(({only} | _MEANS.get(only, frozenset())) & commands)
    named = {stem_english(w) for w in _WORD.findall(text)}
    return all(w in named or w in commands or bool(_MEANS.get(w, frozenset()) & commands) for w in words)
