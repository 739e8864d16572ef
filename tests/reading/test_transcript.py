"""Speakers written into the text of pasted transcripts."""

from datetime import UTC, datetime

from memos.reading.messages import parse_messages

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def speakers(*texts: str, role: str = "user") -> list[str]:
    return [m.speaker for m in parse_messages([{"role": role, "content": t} for t in texts], now=NOW).messages]


def test_a_transcript_gives_its_speakers_and_says_so():
    parsed = parse_messages(["Ana: hello there", "Ben: hi Ana", "Ana: the key is under the mat"], now=NOW)
    assert [m.name for m in parsed.messages] == ["Ana", "Ben", "Ana"]
    assert parsed.messages[0].text == "Ana: hello there"
    assert any("Ana, Ben" in n for n in parsed.notices)


def test_chinese_transcripts_too():
    assert speakers("小王：早上好", "小李：你好", "小王：今天开会") == ["小王", "小李", "小王"]


def test_labels_and_stray_colons_name_nobody():
    assert speakers("Note: buy milk", "Todo: call Ana", "Reminder: rent") == ["user"] * 3
    assert speakers("Ana: hello", "no colon here", "nor here", "nor there") == ["user"] * 4
    assert speakers("Ana: hello", "Ben: hi") == ["user"] * 2
    assert speakers("https://a.example/x", "http://b.example/y", "https://c.example/z") == ["user"] * 3


def test_a_given_name_is_kept():
    messages = [{"role": "user", "name": "Zoe", "content": f"Ana: line {i}"} for i in range(4)]
    assert {m.speaker for m in parse_messages(messages, now=NOW).messages} == {"Zoe"}
