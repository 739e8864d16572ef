"""What requests and answers say, whatever they hold: nothing in them breaks the proxy, and each message has a key of its own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.server.openai import completions, responses
from memos.server.openai.said import Done, Entry, Spoken, ToolCall, fresh, texts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "type", "text", "tool_calls", "function", "arguments", "name", "id", "call_id", "output",
             "choices", "delta", "message", "index", "usage", "prompt_tokens", "input", "messages", "response", "item"]
        ),
        inner | st.sampled_from(["user", "assistant", "tool", "system", "message", "function_call", "response.completed"]),
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON, JSON)
def test_nothing_in_a_request_or_an_answer_breaks_it(one: Any, two: Any) -> None:
    for api, field in ((completions, "messages"), (responses, "input")):
        for value in (one, [one, two], [{"role": "user", "content": one}, {"role": "assistant", "tool_calls": two}]):
            entries = api.entries({field: value})
            found = fresh(entries, "s", lambda _: None)
            assert found.key == fresh(entries, "s", lambda _: None).key
            if found.query:
                assert "BLOCK" in str(api.with_block({field: value}, "BLOCK"))
        heard = api.Heard()
        heard.take({"type": "response.completed", "response": one})
        assert heard.answer and heard.over in (True, False)
        heard.take(one)
        heard.take({"choices": [{"delta": one, "message": two}], "type": "response.output_item.done", "item": two})
        assert heard.answer


def test_the_same_words_are_another_message_each_time_and_the_same_on_every_day_they_are_sent_again() -> None:
    yes, fine = Entry("user", "yes"), Entry("assistant", "fine")
    first, second = (fresh(e, "s", lambda _: None).events for e in ([yes], [yes, fine, yes]))
    assert [e.text for e in (*first, *second) if isinstance(e, Spoken)] == ["yes", "yes"]
    assert first[0] != second[0]
    assert fresh([Entry("other", "It is noon."), yes], "s", lambda _: None).events == first
    assert fresh([yes], "t", lambda _: None).events != first
    both = fresh([yes, Entry("user", "and no")], "s", lambda _: None).events
    assert both[0] == first[0] and len(both) == 2  # the first one, which got no answer, is known again


def test_tools_between_two_messages_stand_between_them() -> None:
    call = Entry("assistant", "", (ToolCall("c1", "ls", "{}"),))
    told = [Entry("user", "look"), call, Entry("tool", "a.txt", call="c1"), Entry("user", "wait")]
    one, step, two = fresh(told, "s", lambda _: None).events
    assert isinstance(one, Spoken) and isinstance(two, Spoken) and two.text == "wait"
    assert isinstance(step, Done) and step.step["call_id"].startswith("c1-")
    assert (step.step["tool"], step.step["input"], step.step["output"]) == ("ls", "{}", "a.txt")
    (unknown,) = fresh([Entry("tool", "x", call="c9" * 200)], "s", lambda _: None).events
    assert isinstance(unknown, Done) and unknown.step["tool"] == "function" and len(unknown.step["call_id"]) == 32


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Hi.", "Hi."), (None, ""), ([{"type": "text", "text": "Hi."}, {"type": "image_url", "image_url": {}}], "Hi.\n[image]"),
        ([{"type": "input_text", "text": "嗨"}, {"type": "input_file"}], "嗨\n[file]"), ([{"type": "refusal", "refusal": "No."}], "No."),
    ],
)  # fmt: skip
def test_the_words_of_a_content(content: Any, words: str) -> None:
    assert texts(content) == words


def test_calls_of_one_name_are_told_apart_by_where_they_stand_and_others_by_their_id() -> None:
    def ids(id: str, *before: Entry) -> list[str]:
        call, output = Entry("assistant", "", (ToolCall(id, "ls", "{}"),)), Entry("tool", "a.txt", call=id)
        return [
            e.step["call_id"]
            for e in fresh([*before, call, output, call, output], "s", lambda _: None).events
            if isinstance(e, Done)
        ]

    one, two = ids("call_0")
    assert one != two and ids("call_0") == [one, two]
    assert ids("call_Uv5kq0Zt3xM") == ids("call_Uv5kq0Zt3xM", Entry("user", "trimmed")) == ["call_Uv5kq0Zt3xM"] * 2


def test_a_name_that_no_tool_may_have_costs_no_answer() -> None:
    call = ToolCall("call_\0\n0123456789abcdef", "a\0\nb", "{}")
    (step,) = fresh([Entry("assistant", "", (call,)), Entry("tool", "x", call=call.id)], "s", lambda _: None).events
    assert isinstance(step, Done) and step.step["tool"] == "a??b" and step.step["call_id"].isprintable()


def test_a_function_of_the_old_form_is_a_step_too() -> None:
    messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "a.txt"},
    ]
    (_, done) = fresh(completions.entries({"messages": messages}), "s", lambda _: None).events
    assert isinstance(done, Done) and (done.step["tool"], done.step["input"]) == ("ls", "{}")
