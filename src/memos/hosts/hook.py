"""What a host runs at each event: `python -P -m memos.hosts.hook HOST`, the event's JSON on stdin, the host's JSON on stdout.

It never stops or breaks the host: it ends with exit code 0 within its deadline, and says on stderr what it could not do. What was
not reported is taken over from the transcript at the next event.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from memos.hosts import catchup
from memos.hosts.reach import Away, Embedded, Memory, Nowhere, Refused, Server, key_in, running, switched_off
from memos.hosts.session import Session, digest, left_behind
from memos.moving.transcript import (
    MOST_OUTPUT,
    MOST_TEXT,
    OWN_TOOLS,
    SUBAGENTS,
    ended,
    exit_of,
    fit,
    interrupted,
    plain_call,
    plain_output,
    turns,
)
from memos.moving.transcript import Call as _Call

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest of this
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

HOSTS = ("claude-code", "codex")
PLUGGED = ("dsh",)  # hosts whose plugin of ours runs this
DEADLINES = {
    "UserPromptSubmit": 5.0,
    "PostToolUse": 3.0,
    "PostToolUseFailure": 3.0,
    "SessionStart": 5.0,
    "SessionEnd": 5.0,
}
DEADLINE = 10.0  # seconds, of every other event
_LEFT = 5  # sessions that are taken over at the start of another
START_TOKENS, HINT_TOKENS = 600, 400
_VALUES = (
    "--home",
    "--url",
    "--key-file",
    "--user",
    "--cube",
    "--max-tokens",
    "--deadline",
    "--event",
    "--environment",
)
_USAGE = (
    f"usage: memos hook {{{'|'.join(HOSTS + PLUGGED)}}} [{' X] ['.join(_VALUES)} X] [--no-embedded], "
    "the event's JSON on stdin"
)


class Run:
    """One event of a host, and what is to be done about it."""

    def __init__(self, host: str, given: dict[str, str], event: dict[str, Any], embedded: bool) -> None:
        self.host, self.event = host, event
        self.name = str(event.get("hook_event_name") or given.get("--event") or "")
        seconds = float(given["--deadline"]) if "--deadline" in given else DEADLINES.get(self.name, DEADLINE)
        self.until = time.monotonic() + seconds
        _watch(seconds + 0.25)
        home = given.get("--home") or os.environ.get("MEMOS_HOME")
        self.home = os.path.abspath(os.path.expanduser(home or "~/.memos"))
        self.tokens = int(given.get("--max-tokens", 1_500))
        self.environment = given.get("--environment") or project_of(str(event.get("cwd") or ""))
        self.who: dict[str, Any] = {"session": str(event.get("session_id") or ""), "agent": host}
        for name in ("user", "cube"):
            value = given.get(f"--{name}") or os.environ.get(f"MEMOS_{name.upper()}")
            if value:
                self.who[name] = value
        to = [self.who.get("user"), self.who.get("cube"), given.get("--url"), given.get("--key-file")]
        self.whose = digest(json.dumps(to))
        url = given.get("--url") or running(self.home)
        server = Server(url, key_in(given.get("--key-file")), self.until) if url else None
        self.memory: Memory
        if server is not None and ("--url" in given or not server.gone):
            self.memory = server
        elif embedded:
            self.memory = Embedded(given.get("--home"))
        else:
            self.memory = Nowhere(self.home)

    def answer(self) -> str:
        """Do what the event asks for, and what the agent is to know (mostly nothing)."""
        if not self.who["session"] or (self.event.get("agent_id") and self.name != "SubagentStop"):
            return ""
        do = {
            "SessionStart": self._session_start,
            "UserPromptSubmit": self._prompt,
            "PostToolUse": self._tool,
            "PostToolUseFailure": self._tool,
            "Stop": self._stop,
            "SubagentStop": self._subagent,
            "PreCompact": self._checkpoint,
            "SessionEnd": self._session_end,
        }.get(self.name)
        return do() if do is not None else ""

    def _session(self) -> Session:
        return Session(self.home, self.host, self.who["session"])

    def _placed(self) -> dict[str, Any]:
        return {**self.who, "environment": self.environment} if self.environment else self.who

    def _take_over(self, session: Session, **how: Any) -> None:
        """Take over what the transcript holds; what could not be told stays for the next time."""
        session.transcript = str(self.event.get("transcript_path") or "") or session.transcript
        session.behind, session.whose = True, self.whose
        session.save()  # so that a hook that is killed leaves a mark
        catchup.take_over(self.memory, session, self._placed(), **how)
        session.behind = False

    def _session_start(self) -> str:
        with self._session().held(self.until) as session:
            self._take_over(session)
        query, tiers = f"working on {self.environment or 'this project'}", ["guidance", "world"]
        tokens = min(START_TOKENS, self.tokens)
        if self.event.get("source") == "compact":
            last = self._last_prompt()
            if last:
                query, tiers, tokens = last, [], self.tokens
        fields: dict[str, Any] = {**self._placed(), "query": fit(query, 10_000), "max_tokens": tokens}
        if tiers:
            fields["tiers"] = tiers
        return self._block(self.memory.tell("recall", fields).get("context"), tokens)

    def afterwards(self) -> None:
        """When the host has its answer: take over what earlier sessions could not report."""
        if self.name == "SessionStart":
            for other in left_behind(self.home, self.host, self.who["session"], self.whose)[:_LEFT]:
                with other.held(self.until):
                    catchup.take_over(self.memory, other, {**self.who, "session": other.id})
                    other.behind = False
            if self.host in PLUGGED:
                from memos.hosts.dsh import journals

                folder = os.path.dirname(str(self.event.get("transcript_path") or ""))
                journals.sweep(folder, self.home, self.memory, self.who, self.whose, self.until)

    def _last_prompt(self) -> str:
        path = str(self.event.get("transcript_path") or "")
        try:
            found, _ = turns(self.host, path, max(0, os.path.getsize(path) - (1 << 19)))
        except OSError:
            return ""
        return next((t.text for t in reversed(found) if t.text), "")

    def _prompt(self) -> str:
        text, id = (
            str(self.event.get("prompt") or ""),
            str(self.event.get("prompt_id") or self.event.get("turn_id") or ""),
        )
        with self._session().held(self.until) as session:
            self._take_over(session, before=(id, text))
            if not fit(text, MOST_TEXT).strip():
                return ""
            key = catchup.key_of(id or f"{session.id}@{time.time_ns()}", text)
            fields = {**self._placed(), "text": fit(text, MOST_TEXT), "key": key, "max_tokens": self.tokens}
            session.behind = True
            session.save()
            begun = self.memory.tell("start_turn", fields)
            session.behind = False
            session.turn, session.reply = key, ""
            session.unseen = [*session.unseen[-99:], [key, digest(text)]]
        return self._block((begun.get("recalled") or {}).get("context"), self.tokens)

    def _tool(self) -> str:
        tool, id = str(self.event.get("tool_name") or ""), str(self.event.get("tool_use_id") or "")
        failed = self.name == "PostToolUseFailure"
        if not tool or tool.startswith(OWN_TOOLS) or tool in SUBAGENTS:
            return ""
        call = self._call(tool, id, failed)
        session = self._session()
        if self.host in PLUGGED:  # is told of failures only: what came before them is in the journal
            with session.held(self.until):
                self._take_over(session)
        if not id or session.is_behind or (self.memory.embedded and call.ok is not False):
            return ""  # the end of the turn takes it over: behind what it belongs to, and for less
        fields = {**self.who, **call.fields(), "max_tokens": min(HINT_TOKENS, self.tokens)}
        duration = self.event.get("duration_ms")
        if isinstance(duration, (int, float)) and duration >= 0:
            fields["duration"] = duration / 1_000
        reported = self.memory.tell("report_step", fields)
        with session.held(self.until):
            session.calls.append(id)
        return self._block(reported.get("context"), HINT_TOKENS)

    def _call(self, tool: str, id: str, failed: bool) -> _Call:
        """The call of an event, as steps are reported."""
        call = _Call(id, tool, self.event.get("tool_input"))
        if failed:
            words = fit(str(self.event.get("error") or "failed"), MOST_OUTPUT)
            if not self.event.get("is_interrupt") and not interrupted(words):
                call.error, call.ok = words, False
            return call
        output = plain_output(self.event.get("tool_response"))
        code = None
        if self.host == "codex" and plain_call(tool, call.input)[0] == "Bash":
            code = exit_of(str(self.event.get("transcript_path") or ""), id)
        if code is not None:
            ended(call, code, output)
        else:
            call.output, call.ok = output, None if self.host == "codex" else True
        return call

    def _stop(self) -> str:
        reply = self.event.get("last_assistant_message")
        with self._session().held(self.until) as session:
            self._take_over(session)
            if isinstance(reply, str) and reply.strip() and digest(reply) != session.reply:
                key = f"{session.turn}:reply:{digest(reply)}"
                self.memory.tell("end_turn", {**self.who, "text": fit(reply, MOST_TEXT), "key": key})
                session.reply = digest(reply)
                session.ahead = [*session.ahead[-99:], session.reply]
        return ""

    def _checkpoint(self) -> str:
        with self._session().held(self.until) as session:
            self._take_over(session)
        return ""

    def _subagent(self) -> str:
        id, reply = str(self.event.get("agent_id") or ""), self.event.get("last_assistant_message")
        path, kind = str(self.event.get("agent_transcript_path") or ""), str(self.event.get("agent_type") or "")
        run = catchup.helper_run(self.host, path, id, kind, reply if isinstance(reply, str) else "")
        if run is not None and id:
            self.memory.tell("report_subagent", {**self.who, **run})
            with self._session().held(self.until) as session:
                session.helpers.append(id)
        return ""

    def _session_end(self) -> str:
        with self._session().held(self.until) as session:
            self._take_over(session, over=True)
        self.memory.tell("end_session", self.who)
        if self.host in PLUGGED:
            from memos.hosts.dsh import journals

            with session.held(self.until):
                journals.clear(session)
        return ""

    def _block(self, context: object, tokens: int) -> str:
        """What the host hands to the agent; a block that is over its budget is not cut but left out."""
        if not isinstance(context, str) or not context or len(context) > tokens * 4:
            return ""
        return json.dumps(
            {"hookSpecificOutput": {"hookEventName": self.name, "additionalContext": context}}, ensure_ascii=False
        )


def project_of(folder: str) -> str:
    """The name of the project a folder belongs to: of the nearest folder above with a `.git`, or its own."""
    if not folder:
        return ""
    at = folder
    while at and at != os.path.dirname(at):
        if os.path.exists(os.path.join(at, ".git")):
            return os.path.basename(at)[:200]
        at = os.path.dirname(at)
    return os.path.basename(folder.rstrip("/\\"))[:200]


def main(arguments: list[str] | None = None) -> int:
    """Answer one event. Always 0: a hook never breaks its host."""
    try:
        given = _given(sys.argv[1:] if arguments is None else arguments)
        if given is None:
            print(_USAGE, file=sys.stderr)
            return 0
        if switched_off():
            return 0
        event = json.loads(sys.stdin.buffer.read())
        if isinstance(event, dict):
            run = Run(given["host"], given, event, "--no-embedded" not in given)
            try:
                out = run.answer()
                if out:
                    sys.stdout.buffer.write(out.encode("utf-8", "replace") + b"\n")
                    sys.stdout.flush()
                run.afterwards()
            finally:
                run.memory.close()
        _watch(0)
        for verb in catchup.let_go:
            _say(f"{verb} was refused and is not tried again")
    except (Away, Refused, TimeoutError) as e:
        _say(f"{e}; it is told again at the next event")
    except OSError as e:
        _say(f"cannot write ({e.strerror}); what is told waits until hosts/sessions of the data folder can be written")
    except ImportError as e:  # a package went, or MemOS was updated in part
        _say(f"MemOS cannot be loaded ({e}): install it again for {sys.executable}")
    except Exception as e:  # noqa: BLE001 - whatever it is, the host goes on
        _say(f"unexpected {type(e).__name__}")
    return 0


def _given(arguments: list[str]) -> dict[str, str] | None:
    """The options, and the host under "host"; None when they cannot be used."""
    out: dict[str, str] = {}
    items = iter(arguments)
    for item in items:
        name, equals, value = item.partition("=")
        if name in _VALUES:
            out[name] = value if equals else next(items, "")
        elif item == "--no-embedded":
            out[item] = "yes"
        elif item in HOSTS + PLUGGED:
            out["host"] = item
        elif item[:1].isupper():
            out["--event"] = item
        else:
            return None
    return out if "host" in out else None


def _watch(seconds: float) -> None:
    """End this process, well, when it takes longer; 0: no more."""
    if not hasattr(signal, "setitimer"):
        return

    def late(number: int, frame: FrameType | None) -> None:
        os.write(2, b"memos hook: no time is left; it is told again at the next event\n")
        os._exit(0)

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _say(what: str) -> None:
    print(f"memos hook: {what}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
