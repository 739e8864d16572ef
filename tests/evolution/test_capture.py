"""What an agent tells of a step becomes one memory: checked, verbatim in its body, readable in its text. In many hosts' spellings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.evolution.episodes.capture import MOST_CHARS, Call, call_of, checked_call, memory_of, readable, role_of
from memos.memory.episode import StepReport, StepRole, ToolUse
from memos.memory.model import Kind, Origin
from memos.memory.time import parse_time
from memos.storage.sqlite.lived import tool_use

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def clock(value: Any) -> datetime | None:
    return None if value is None else parse_time(value, default_zone="UTC").instant


def of(report: StepReport | Mapping[str, Any]) -> Call:
    return call_of(report, "steps[0]", clock)


def memory(call: Call) -> Any:
    return memory_of(call, session="s", owner="anna", agent="coder", at=NOW)


class TestSpellings:
    @pytest.mark.parametrize(
        "report",
        [
            StepReport("shell", {"cmd": "ls"}, "a b", ok=True, duration=1.5, call_id="c1"),
            {"tool": "shell", "input": {"cmd": "ls"}, "output": "a b", "ok": True, "duration": 1.5, "call_id": "c1"},
            {"name": "shell", "args": {"cmd": "ls"}, "result": "a b", "success": True, "durationMs": 1500, "toolCallId": "c1"},
            {"tool_name": "shell", "arguments": {"cmd": "ls"}, "output": "a b", "isError": False, "duration_ms": 1500, "id": "c1"},
            {"toolName": "shell", "tool_input": {"cmd": "ls"}, "tool_response": "a b", "is_error": False, "tool_use_id": "c1",
             "startedAt": "2026-03-02T08:00:00Z", "endedAt": "2026-03-02T08:00:01.500Z"},
            {"name": "shell", "input": {"cmd": "ls"}, "result": "a b", "ok": True, "callId": "c1",
             "started_at": 1_772_438_400_000, "ended_at": 1_772_438_401_500},
        ],
    )  # fmt: skip
    def test_reports_of_many_hosts_say_the_same(self, report: Any) -> None:
        assert of(report).use == ToolUse("shell", '{"cmd":"ls"}', "a b", ok=True, duration=1.5, call_id="c1")
        assert of(report).notices == ()

    def test_calls_as_chat_apis_list_them_are_read(self) -> None:
        listed = {"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": '{"cmd":"ls"}'}}
        assert of(listed).use == ToolUse("shell", '{"cmd":"ls"}', call_id="call_1")

    def test_when_it_began_is_kept(self) -> None:
        call = of({"tool": "shell", "startedAt": "2026-03-02T08:00:00Z"})
        assert call.at == datetime(2026, 3, 2, 8, tzinfo=UTC)
        assert memory(call).valid_from == call.at

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            ("no such file", "no such file"),
            ({"message": "no", "code": 2}, "no"),
            ({"code": 2}, '{"code":2}'),
            (127, "127"),
        ],
    )
    def test_an_error_is_words_a_code_or_an_object(self, error: Any, said: str) -> None:
        assert of({"tool": "x", "error": error}).use.error == said
        assert of({"tool": "x", "error": error}).ok is False

    def test_an_error_that_is_only_true_says_that_it_failed(self) -> None:
        assert of({"tool": "x", "error": True}).ok is False
        assert of({"tool": "x", "error": False}).ok is None

    def test_unknown_fields_are_named(self) -> None:
        assert of({"tool": "x", "colour": 1, "Zoom": 2}).notices == ("steps[0]: unknown fields ignored: Zoom, colour",)

    def test_nobody_said_is_not_it_worked(self) -> None:
        assert of({"tool": "x", "output": "fine"}).ok is None


class TestChecks:
    @pytest.mark.parametrize(
        ("report", "field"),
        [
            ({}, "tool"), ({"tool": ""}, "tool"), ({"tool": None}, "tool"), ({"tool": 5}, "tool"), ({"tool": "a\nb"}, "tool"), ({"tool": "x" * 257}, "tool"),
            ({"tool": "a\ud800"}, "tool"), ({"tool": "x", "ok": "yes"}, "ok"), ({"tool": "x", "ok": 1}, "ok"), ({"tool": "x", "isError": 0}, "is_error"),
            ({"tool": "x", "duration": -1}, "duration"), ({"tool": "x", "duration": float("nan")}, "duration"),
            ({"tool": "x", "duration": "5"}, "duration"), ({"tool": "x", "durationMs": float("inf")}, "duration_ms"), ({"tool": "x", "duration": True}, "duration"),
            ({"tool": "x", "call_id": ["c"]}, "call_id"), ({"tool": "x", "call_id": "c" * 300}, "call_id"), ({"tool": "x", "error": ["e"]}, "error"),
            ({"tool": "x", "input": {1, 2}}, "input"), ({"tool": "x", "output": b"raw"}, "output"), ({"tool": "x", "output": object()}, "output"),
            ({"tool": "x", "reflection": 3}, "reflection"), ({"tool": "x", "info": [1]}, "info"), ({"tool": "x", "info": {"a": float("nan")}}, "info"),
            ({"tool": "x", "startedAt": "yesterdayish"}, "started"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_used_is_an_error_that_names_the_field(self, report: Any, field: str) -> None:
        with pytest.raises(InvalidInput, match=rf"steps\[0\].*{field}"):
            of(report)

    @pytest.mark.parametrize("report", [None, "shell", 5, ["shell"]])
    def test_what_is_no_report_is_an_error(self, report: Any) -> None:
        with pytest.raises(InvalidInput, match="StepReport"):
            of(report)

    def test_what_is_nested_without_end_is_an_error(self) -> None:
        loop: list[Any] = []
        loop.append(loop)
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        for value in (loop, deep):
            with pytest.raises(InvalidInput, match="input"):
                checked_call("x", value)

    def test_the_fields_of_a_step_report_are_checked_too(self) -> None:
        with pytest.raises(InvalidInput, match="tool"):
            of(StepReport(tool=""))


class TestVerbatim:
    def test_everything_is_in_the_body_and_the_text_is_short(self) -> None:
        long = "\n".join(f"line {n}" for n in range(20_000))
        made = memory(checked_call("shell", {"cmd": "cat log"}, long, call_id="c"))
        assert tool_use(made) == ToolUse("shell", '{"cmd":"cat log"}', long, call_id="c")
        assert len(made.text) <= 1_700
        assert made.text.startswith('shell: {"cmd":"cat log"}')
        assert "line 0" in made.text
        assert "line 19999" in made.text

    def test_what_is_too_long_keeps_its_ends_and_says_so(self) -> None:
        call = checked_call("shell", "a", "x" * 1_500_000 + "END", where="steps[3]")
        assert call.use.output.endswith("END")
        assert MOST_CHARS <= len(call.use.output) <= MOST_CHARS + 100
        assert call.notices == ("steps[3].output is 1,500,003 characters long; its first and last 500,000 are kept",)

    def test_secrets_are_left_alone(self) -> None:
        assert checked_call("x", "password=hunter2 sk-abc").use.input == "password=hunter2 sk-abc"

    def test_half_characters_are_replaced_and_whole_pairs_joined(self) -> None:
        assert checked_call("x", "a\ud800b", {"k": "\ud83d\ude00"}).use == ToolUse("x", "a\ufffdb", '{"k":"😀"}')

    def test_null_characters_and_numbers_that_json_lacks_are_kept(self) -> None:
        assert checked_call("x", "a\x00b", {"n": float("nan")}).use == ToolUse("x", "a\x00b", '{"n":NaN}')

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_nothing_is_nothing(self, nothing: Any) -> None:
        use = checked_call("x", nothing, nothing, call_id=nothing).use
        assert use == ToolUse("x")
        assert memory(checked_call("x")).body == {"use": {"tool": "x"}}

    @pytest.mark.parametrize(
        ("value", "text"), [(0, "0"), (False, "false"), ([], "[]"), ({}, "{}"), ({"ä": 1}, '{"ä":1}')]
    )
    def test_other_values_are_compact_json(self, value: Any, text: str) -> None:
        assert checked_call("x", value).use.input == text

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
        )
    )
    def test_any_json_comes_back(self, value: Any) -> None:
        use = tool_use(memory(checked_call("x", {"v": value})))
        assert use is not None
        assert json.loads(use.input) == {"v": value}


class TestMemory:
    def test_it_is_a_raw_record_of_a_tool(self) -> None:
        made = memory(checked_call("shell", "ls", "a", reflection="went well", info={"host": "h"}))
        assert (made.kind, made.origin, made.role, made.speaker) == (Kind.TOOL_CALL, Origin.TOOL, "tool", "coder")
        assert (made.session, made.owner, made.valid_from) == ("s", "anna", NOW)
        assert made.body["reflection"] == "went well"
        assert made.info == {"host": "h"}

    def test_its_text_says_what_came_of_it(self) -> None:
        assert readable(ToolUse("shell", "make", "cc -o x", error="no rule")) == "shell: make\nerror: no rule\ncc -o x"
        assert readable(ToolUse("shell", "make", ok=True)) == "shell: make\nok"
        assert readable(ToolUse("shell", "make", "bang", ok=False)) == "shell: make\nfailed\nbang"
        assert readable(ToolUse("ping")) == "ping"

    def test_a_sub_agent_is_told_by_its_tool(self) -> None:
        assert role_of(checked_call("subagent:finder")) is StepRole.SUBAGENT
        assert role_of(checked_call("shell")) is StepRole.TOOL
