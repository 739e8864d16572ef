"""Every legal shape of a message is understood; what cannot be is named; nothing is lost silently."""

from __future__ import annotations

import base64
import hashlib
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.memory.message import Message, PartType, ToolCall
from memos.reading.messages import Parsed, parse_messages

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)


def parse(value: Any, **options: Any) -> Parsed:
    return parse_messages(value, now=NOW, **options)


def one(value: Any, **options: Any) -> Message:
    parsed = parse(value, **options)
    assert len(parsed.messages) == 1
    return parsed.messages[0]


def test_a_string_is_a_message_of_the_default_role() -> None:
    message = one("I moved to Oslo")
    assert (message.role, message.text, message.time, message.time_given) == ("user", "I moved to Oslo", NOW, False)
    assert one("done", default_role="assistant").role == "assistant"


def test_a_dict_a_list_of_both_and_a_message_are_accepted() -> None:
    made = Message(role="assistant", text="hello", time=NOW)
    parsed = parse([{"role": "user", "content": "a"}, "b", made])
    assert [m.text for m in parsed.messages] == ["a", "b", "hello"]
    assert parsed.notices == ()
    assert one({"role": "user", "content": "a"}).text == "a"
    assert one(made) == made


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
def test_every_role_is_kept(role: str) -> None:
    assert one({"role": role, "content": "x"}).role == role


def test_a_function_result_is_a_tool_message() -> None:
    message = one({"role": "function", "name": "get_weather", "content": "sunny"})
    assert (message.role, message.name) == ("tool", "get_weather")


def test_tool_calls_and_results() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    parsed = parse(
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
            {"role": "assistant", "content": None, "function_call": {"name": "g", "arguments": {"b": "é"}}},
        ]
    )
    asked, result, old = parsed.messages
    assert asked.tool_calls == (ToolCall("c1", "f", '{"a": 1}'),)
    assert (result.tool_call_id, result.text) == ("c1", "42")
    assert old.tool_calls == (ToolCall("", "g", '{"b": "é"}'),)


def test_parts_become_text_in_order_and_media_by_reference() -> None:
    message = one(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "I own a lute"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a/lute.png?x=1"}},
                {"type": "file", "file": {"file_id": "f-1", "filename": "tabs.pdf"}},
                {"type": "input_text", "text": "and more"},
                {"type": "output_text", "text": "still"},
                {"type": "refusal", "refusal": "I cannot"},
            ],
        }
    )
    assert message.text == "I own a lute\n[image: lute.png]\n[file: tabs.pdf]\nand more\nstill\nI cannot"
    assert [p.type for p in message.parts] == ["text", "image", "file", "text", "text", "refusal"]
    assert message.parts[1].uri == "https://example.org/a/lute.png?x=1"
    assert message.parts[2].uri == "f-1"


def test_refusal_beside_null_content_is_text() -> None:
    assert one({"role": "assistant", "content": None, "refusal": "I cannot help"}).text == "I cannot help"


def test_inline_data_is_kept_as_hash_never_as_bytes() -> None:
    data = b"\x89PNG not really"
    encoded = base64.b64encode(data).decode()
    parsed = parse(
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
                {"type": "input_audio", "input_audio": {"data": encoded, "format": "wav"}},
                {"type": "file", "file": {"file_data": encoded, "filename": "x.bin"}},
            ],
        }
    )
    message = parsed.messages[0]
    reference = "sha256:" + hashlib.sha256(data).hexdigest()
    assert [p.uri for p in message.parts] == [reference] * 3
    assert [p.media_type for p in message.parts] == ["image/png", "audio/wav", None]
    assert len(parsed.notices) == 3
    assert all("messages[0].content" in n for n in parsed.notices)
    assert encoded not in repr(message)


def test_raw_items_without_role() -> None:
    parsed = parse(
        [{"type": "text", "text": "I own a lute"}, {"type": "file", "file": {"file_id": "f", "filename": "a.txt"}}]
    )
    assert [m.text for m in parsed.messages] == ["I own a lute", "[file: a.txt]"]
    assert parsed.messages[1].parts[0].type is PartType.FILE


def test_unknown_parts_are_skipped_and_bare_strings_read_with_notice() -> None:
    parsed = parse([{"role": "user", "content": [{"type": "hologram", "x": 1}, "bare", {"type": "text"}]}])
    assert parsed.messages[0].text == "bare"
    assert len(parsed.notices) == 3
    assert "content[0]" in parsed.notices[0]
    assert "hologram" in parsed.notices[0]
    assert "content[1]" in parsed.notices[1]


@pytest.mark.parametrize(
    "blank", ["", " ", "\u200b", "\u3000", "\n", "\ufeff\t", None, [], [{"type": "text", "text": " "}]]
)
def test_blank_content_is_left_out_with_a_notice(blank: Any) -> None:
    parsed = parse([{"role": "user", "content": "good"}, {"role": "user", "content": blank}])
    assert [m.text for m in parsed.messages] == ["good"]
    assert any("messages[1]" in n and "blank" in n for n in parsed.notices)
    with pytest.raises(InvalidInput, match="nothing to store"):
        parse([{"role": "user", "content": blank}])


@pytest.mark.parametrize("empty", ["", "\u200b", [], ()])
def test_nothing_at_all_is_an_error(empty: Any) -> None:
    with pytest.raises(InvalidInput):
        parse(empty)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "messages"),
        (7, "messages"),
        (b"x", "messages"),
        ([7], r"messages\[0\]"),
        ([{}], r"messages\[0\]"),
        ([{"role": "user", "content": 5}], r"messages\[0\]\.content"),
        (["a", {"role": "user", "content": [5]}], r"messages\[1\]\.content\[0\]"),
        ([{"role": "user", "content": [{"type": "text", "text": 5}]}], r"messages\[0\]\.content\[0\]\.text"),
        ([{"role": "user", "content": [{"type": 3}]}], r"messages\[0\]\.content\[0\]\.type"),
        ([{"role": "king", "content": "x"}], r"messages\[0\]\.role"),
        ([{"role": ["user"], "content": "x"}], r"messages\[0\]\.role"),
        ([{"role": "user", "content": "x", "name": 5}], r"messages\[0\]\.name"),
        ([{"role": "user", "content": "x", "message_id": 5}], r"messages\[0\]\.message_id"),
        ([{"role": "user", "content": "x", "info": []}], r"messages\[0\]\.info"),
        ([{"role": "user", "content": "x", "info": {"a": object()}}], r"messages\[0\]\.info"),
        ([{"role": "assistant", "content": None, "tool_calls": "f"}], r"messages\[0\]\.tool_calls"),
        ([{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}], r"tool_calls\[0\]\.function\.name"),
        (["ok", {"role": "user", "content": "x", "chat_time": "teatime"}], r"messages\[1\]\.chat_time"),
        (["ok", {"role": "user", "content": "x", "chat_time": {"a": 1}}], r"messages\[1\]\.chat_time"),
        ([Message(role="user", text="x", time=datetime(2024, 1, 1))], r"messages\[0\]\.time"),
    ],
)
def test_wrong_types_name_the_index_and_the_field(value: Any, named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        parse(value)


def test_a_naive_now_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="now"):
        parse_messages("x", now=datetime(2024, 1, 1))


def test_surrogates_are_joined_or_replaced() -> None:
    assert one("ok \ud83d end").text == "ok \ufffd end"
    assert one("ok \ud83d\ude00 end").text == "ok 😀 end"
    message = one(
        {"role": "user", "content": [{"type": "text", "text": "a\udc00"}], "name": "\ud800", "info": {"k": ["\ud800"]}}
    )
    assert (message.text, message.name, message.info["k"]) == ("a\ufffd", "\ufffd", ["\ufffd"])
    family = "👩‍👩‍👧 🇳🇴 👍🏽"
    assert one(family).text == family


def test_chat_time_sets_time_and_zone() -> None:
    message = one(
        {"role": "user", "content": "x", "chat_time": "2025-06-26 15:00", "message_id": "m1"}, zone="Europe/Oslo"
    )
    assert message.time == datetime(2025, 6, 26, 13, tzinfo=UTC)
    assert (message.zone, message.time_given, message.message_id) == ("Europe/Oslo", True, "m1")
    assert one({"role": "user", "content": "x", "chat_time": "1:56 pm on 8 May, 2023"}).time == datetime(
        2023, 5, 8, 13, 56, tzinfo=UTC
    )
    assert one({"role": "user", "content": "x", "chat_time": "2031-03-01T00:30:00+02:00"}).time == datetime(
        2031, 2, 28, 22, 30, tzinfo=UTC
    )


def test_unknown_fields_are_named() -> None:
    parsed = parse({"role": "user", "content": "x", "mood": "fine"})
    assert any("mood" in n for n in parsed.notices)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "assistant", "system", "tool"]),
                "content": st.text(max_size=20) | st.none(),
            },
            optional={"name": st.text(max_size=4)},
        ),
        max_size=5,
    )
)
def test_every_message_is_kept_or_named(items: list[dict[str, Any]]) -> None:
    try:
        parsed = parse(items)
    except InvalidInput:
        return
    assert len(parsed.messages) + sum("blank" in n for n in parsed.notices) == len(items)
    for message in parsed.messages:
        message.text.encode()  # well-formed


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda c: (
            st.lists(c, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["role", "content", "type", "text", "file", "image_url", "url", "name", "input_audio", "data"]
                ),
                c,
                max_size=4,
            )
        ),
        max_leaves=8,
    )
)
def test_any_shape_is_understood_or_a_typed_error(value: Any) -> None:
    with suppress(InvalidInput):
        parse(value)


# -- in the words of other libraries ---------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["text", "message"])
def test_content_by_another_name_is_content(field: str) -> None:
    parsed = parse({"role": "assistant", field: "hello"})
    assert [(m.role, m.text) for m in parsed.messages] == [("assistant", "hello")]
    assert parsed.notices == (f"fields were read as ours: {field} as content",)
    assert one({"role": "user", field: [{"type": "text", "text": "a part"}]}).text == "a part"
    assert one({field: "hello"}).role == "user"
    assert one({"role": "user", "content": "ours", field: "theirs"}).text == "ours"


@pytest.mark.parametrize("field", ["timestamp", "created_at", "time", "date"])
@pytest.mark.parametrize(
    "value",
    ["2024-05-08T10:20:00Z", 1_715_163_600, 1_715_163_600_000, "1715163600", "1715163600.0",
     datetime(2024, 5, 8, 10, 20, tzinfo=UTC)],
)  # fmt: skip
def test_a_time_by_another_name_is_the_time(field: str, value: Any) -> None:
    message = one({"role": "user", "content": "x", field: value})
    assert (message.time, message.time_given) == (datetime(2024, 5, 8, 10, 20, tzinfo=UTC), True)


def test_our_time_wins_and_the_other_is_named() -> None:
    parsed = parse({"role": "user", "content": "x", "chat_time": "2024-05-08", "timestamp": 5})
    assert parsed.messages[0].time == datetime(2024, 5, 8, tzinfo=UTC)
    assert parsed.notices == ("messages[0]: unknown fields ignored: timestamp",)


def test_a_date_and_a_time_beside_each_other_are_one() -> None:
    parsed = parse({"role": "user", "content": "x", "date": "2024-05-08", "time": "10:20"})
    assert parsed.messages[0].time == datetime(2024, 5, 8, 10, 20, tzinfo=UTC)
    assert parsed.notices == ("fields were read as ours: date and time as chat_time",)


@pytest.mark.parametrize("value", ["teatime", 12.5, 0, {"a": 1}, True, float("nan"), "99"])
def test_a_foreign_time_that_cannot_be_read_is_named_and_stops_nothing(value: Any) -> None:
    parsed = parse({"role": "user", "content": "x", "time": value})
    assert (parsed.messages[0].time, parsed.messages[0].time_given) == (NOW, False)
    assert "time of arrival" in parsed.notices[0]


def test_id_and_speaker_by_other_names() -> None:
    message = one({"content": "x", "id": 7, "speaker": "Ann"})
    assert (message.message_id, message.name, message.role) == ("7", "Ann", "user")
    for field in ("speaker", "author", "sender"):
        assert one({"role": "user", "content": "x", field: "Ann"}).name == "Ann"
        message = one({"content": "x", field: "assistant"})  # it says the role
        assert (message.role, message.name) == ("assistant", None)
        message = one({"role": "user", "content": "x", field: "user"})
        assert (message.role, message.name) == ("user", None)
    message = one({"content": "x", "id": "theirs", "message_id": "ours", "name": "Bo", "author": "Ann"})
    assert (message.message_id, message.name) == ("ours", "Bo")


def test_roles_by_other_names() -> None:
    parsed = parse(
        [{"type": "human", "content": "a"}, {"type": "ai", "content": "b"}, {"role": "model", "content": "c"}]
    )
    assert [m.role for m in parsed.messages] == ["user", "assistant", "assistant"]
    assert parsed.notices == (
        "fields were read as ours: type 'human' as role 'user', type 'ai' as role 'assistant', "
        "role 'model' as role 'assistant'",
    )


def test_a_message_in_an_envelope_is_taken_out() -> None:
    message = one({"type": "user", "timestamp": "2024-05-08", "message": {"role": "user", "content": "hello"}})
    assert (message.role, message.text, message.time.day) == ("user", "hello", 8)


def test_one_notice_says_it_for_the_whole_call() -> None:
    parsed = parse([{"role": "user", "text": str(n), "timestamp": 1_715_163_600 + n} for n in range(50)])
    assert len(parsed.messages) == 50
    assert parsed.notices == ("fields were read as ours: text as content, timestamp as chat_time",)


@given(
    st.dictionaries(
        st.sampled_from(["role", "content", "text", "message", "type", "time", "date", "timestamp", "id", "author"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["ai", "user"])
        | st.lists(st.text(max_size=3), max_size=2) | st.dictionaries(st.sampled_from(["content", "role"]), st.text(max_size=3)),
        max_size=6,
    )
)  # fmt: skip
def test_no_mixture_of_words_breaks_the_reader(item: dict[str, Any]) -> None:
    with suppress(InvalidInput):
        (message,) = parse(item).messages
        assert message.text
