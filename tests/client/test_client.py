"""The client without a real server: where it goes, what it sends, what it makes of answers, and what it never shows."""

from __future__ import annotations

import inspect
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from client_helpers import ADDED, BadServer, answers

from memos import MemOS, errors
from memos.client import AsyncClient, Client
from memos.memory.filter import parse_filter
from memos.memory.message import Message
from memos.memory.model import Kind

SECRET = "mk_0123456789abcdef"
SRC = Path(__file__).parents[2] / "src"
# Needs no route of its own: what the server's wires use inside, or what only makes sense beside the data.
NOT_OVER_HTTP = {
    "add_file", "find_ids", "graph", "health", "judge", "locate", "owner_of", "recover", "retire", "start", "usage",
    "chat_model",
}  # fmt: skip
NOT_SENT = {
    "search": {"recipe"},
    "add": {"retry_key"},
    "delete": {"if_version"},
    "chat": {"found"},
    "chat_stream": {"found"},
}  # the client makes the key
ONLY_HERE: dict[str, set[str]] = {}


@pytest.fixture
def client(bad: BadServer) -> Iterator[Client]:
    with Client(bad.url, SECRET, timeout=5, attempts=1) as client:
        yield client


def verbs(kind: type) -> dict[str, inspect.Signature]:
    found = {}
    for name in dir(kind):
        member = getattr(kind, name)
        wrapped = getattr(member, "__wrapped__", member)
        if not name.startswith("_") and (inspect.iscoroutinefunction(wrapped) or inspect.isasyncgenfunction(wrapped)):
            found[name] = inspect.signature(wrapped)
    return found


def test_the_verbs_of_the_library_have_the_same_parameters_here() -> None:
    library, here = verbs(MemOS), verbs(AsyncClient)
    drifted = {}
    for name, signature in library.items():
        if name in NOT_OVER_HTTP:
            continue
        assert name in here, f"{name} is missing"
        wanted = [p for p in signature.parameters if p not in NOT_SENT.get(name, ())]
        has = [p for p in here[name].parameters if p not in ONLY_HERE.get(name, ())]
        kinds = [signature.parameters[p].kind for p in wanted], [here[name].parameters[p].kind for p in has]
        defaults = [
            (p, signature.parameters[p].default, here[name].parameters[p].default)
            for p in set(wanted) & set(has) - {"user"}
            if signature.parameters[p].default != here[name].parameters[p].default
        ]
        if sorted(wanted) != sorted(has) or sorted(map(str, kinds[0])) != sorted(map(str, kinds[1])) or defaults:
            drifted[name] = (wanted, has, defaults)
    assert drifted == {}


def test_the_synchronous_client_has_every_verb_of_the_asynchronous_one() -> None:
    asynchronous, synchronous = verbs(AsyncClient), verbs(Client)
    assert set(asynchronous) - set(synchronous) == {"close"} - set(synchronous)
    assert {n: s for n, s in synchronous.items() if asynchronous[n] != s} == {}


@pytest.mark.parametrize("given", ["{}", "{}/", "{}/v1", "{}/v1/", " {} "])
def test_an_address_may_end_in_a_slash_or_in_the_version(bad: BadServer, given: str) -> None:
    bad.behaviours = [answers({"items": []})]
    with Client(given.format(bad.url)) as client:
        client.list_cubes()
        assert client.base_url == bad.url
    assert bad.requests[0].path == "/v1/cubes"


def test_an_address_may_have_a_path(bad: BadServer) -> None:
    bad.behaviours = [answers({"items": []})]
    with Client(f"{bad.url}/memory/") as client:
        client.list_cubes(user="ada")
    assert bad.requests[0].path == "/memory/v1/cubes?user=ada"


def test_address_and_key_come_from_the_environment(bad: BadServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOS_URL", bad.url)
    monkeypatch.setenv("MEMOS_API_KEY", f"{SECRET}\n")
    bad.behaviours = [answers({"items": []})]
    with Client() as client:
        client.list_cubes()
    assert bad.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert Client("http://elsewhere:1/").base_url == "http://elsewhere:1"


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://x", "http://", "http://u:p@x", "http://x?a=1", "http://x#a", 7, None]
)
def test_an_address_that_is_none_is_refused_with_an_example(url: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if url is None:
        monkeypatch.setenv("MEMOS_URL", "nowhere")
    with pytest.raises(errors.InvalidInput, match="base_url") as caught:
        Client(url)
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": "1"},
        {"patience": -1},
        {"attempts": 0},
        {"attempts": True},
        {"timeout": float("nan")},
    ],
)
def test_options_are_checked(options: Any) -> None:
    with pytest.raises(errors.InvalidInput, match=next(iter(options))):
        Client("http://x", **options)


def test_the_key_is_in_no_repr_message_or_log(bad: BadServer, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    bad.behaviours = [answers({"error": {"code": "unauthorized", "message": "no"}}, 401)]
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.Unauthorized) as caught:
        client.search("a secret question")
    assert bad.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    shown = [repr(client), str(client), repr(client._system), repr(caught.value), caplog.text]
    shown += [repr(vars(client)), *getattr(caught.value, "__notes__", [])]
    assert not [s for s in shown if SECRET in s]
    assert "secret question" not in caplog.text
    with pytest.raises(errors.InvalidInput) as refused:
        Client("http://x", "mk_ключ")
    assert "ключ" not in str(refused.value)


def test_a_redirect_is_not_followed(bad: BadServer, client: Client) -> None:
    other = BadServer([answers(ADDED)])
    bad.behaviours = [answers(b"", 307, Location=f"{other.url}/v1/memories")]
    with pytest.raises(errors.MemosError, match="redirected"):
        client.add("x")
    assert other.requests == []
    other.close()


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_input", errors.InvalidInput),
        (400, "invalid_filter", errors.InvalidFilter),
        (422, "invalid_request", errors.InvalidInput),
        (401, "unauthorized", errors.Unauthorized),
        (403, "access_denied", errors.AccessDenied),
        (404, "not_found", errors.NotFound),
        (404, "http_404", errors.NotFound),
        (409, "conflict", errors.Conflict),
        (413, "too_large", errors.InvalidInput),
        (429, "busy", errors.Busy),
        (503, "unavailable", errors.Unavailable),
        (503, "model_unavailable", errors.ModelUnavailable),
        (507, "storage_full", errors.StorageFull),
        (500, "internal", errors.MemosError),
        (418, "from_the_future", errors.MemosError),
    ],
)
def test_errors_are_the_same_classes_as_in_the_library(
    bad: BadServer, client: Client, status: int, code: str, kind: type[Exception]
) -> None:
    bad.behaviours = [answers({"error": {"code": code, "message": "the reason"}, "request_id": "r-7"}, status)]
    with pytest.raises(kind, match="the reason") as caught:
        client.get("m1")
    assert type(caught.value) is kind
    assert any("r-7" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"error": "x"}', b'{"error": {"code": 1}}', b"\xff" * 5000])
def test_an_error_that_is_not_ours_is_told_by_its_status(bad: BadServer, client: Client, body: bytes) -> None:
    bad.behaviours = [answers(body, 404)]
    with pytest.raises(errors.NotFound, match="404") as caught:
        client.get("m1")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("body", [b"", b"hello", b"{}", b"[]", b'{"cube": 1, "records": []}'])
def test_an_answer_that_is_no_answer_is_an_error_that_says_so(bad: BadServer, client: Client, body: bytes) -> None:
    bad.behaviours = [answers(body)]
    with pytest.raises(errors.MemosError, match="no AddResult"):
        client.add("x")


def test_an_answer_of_a_newer_server_with_more_fields_is_understood(bad: BadServer, client: Client) -> None:
    bad.behaviours = [answers({**ADDED, "new_field": 1})]
    assert client.add("x").ids == ("m1",)


def test_what_is_not_given_is_not_sent(bad: BadServer, client: Client) -> None:
    bad.behaviours = [answers(ADDED)]
    client.add("hello")
    assert bad.requests[0].json == {"messages": "hello", "role": "user", "tags": [], "derive": True, "wait": False}


def test_every_form_of_message_and_value_is_sent(bad: BadServer, client: Client) -> None:
    bad.behaviours = [answers(ADDED)]
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    message = Message("user", "hi", when, zone="+02:00", time_given=True, name="Ada", message_id="7")
    chat = {"role": "user", "content": "x", "chat_time": when}
    client.add((m for m in ["text", chat, message]), tags=("a", "b"), info={"k": [1, None, {"n": when}]})
    sent = bad.requests[0].json
    assert sent["messages"][0] == "text"
    assert sent["messages"][1]["chat_time"] == "2026-01-02T03:04:00+00:00"
    expected = {
        "role": "user",
        "content": "hi",
        "name": "Ada",
        "message_id": "7",
        "chat_time": "2026-01-02T05:04:00+02:00",
    }
    assert sent["messages"][2] == expected
    assert sent["tags"] == ["a", "b"] and sent["info"]["k"][2] == {"n": "2026-01-02T03:04:00+00:00"}


def test_filters_kinds_and_times_are_sent_in_every_form(bad: BadServer, client: Client) -> None:
    bad.behaviours = [answers({"items": [], "cursor": None})]
    where = parse_filter({"and": [{"tags": "a"}, {"importance": {"gte": 0.5}}]})
    client.list(filter=where, kinds={Kind.FACT}, as_of=datetime(2026, 1, 1, tzinfo=UTC), newest_first=False)
    sent = bad.requests[0].json
    assert parse_filter(sent["filter"]) == where
    assert sent["kinds"] == ["fact"] and sent["as_of"] == "2026-01-01T00:00:00+00:00" and sent["order"] == "oldest"


@pytest.mark.parametrize(
    "messages", [b"bytes", object(), [{"role": "user", "content": b"x"}], {"content": float("nan")}]
)
def test_what_has_no_json_form_is_refused_before_anything_is_sent(
    bad: BadServer, client: Client, messages: Any
) -> None:
    with pytest.raises(errors.InvalidInput):
        client.add(messages)
    assert bad.requests == []


def test_half_a_surrogate_pair_is_sent_as_the_sign_of_replacement(bad: BadServer, client: Client) -> None:
    bad.behaviours = [answers(ADDED)]
    client.add("a\ud800b")
    assert bad.requests[0].json["messages"] == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("name", ["", " ", ".", "..", None, 7])
def test_a_name_that_would_be_another_path_is_refused(bad: BadServer, client: Client, name: Any) -> None:
    for call in (lambda: client.get(name), lambda: client.open_cube(name), lambda: client.get_task(name)):
        with pytest.raises(errors.InvalidInput):
            call()
    assert bad.requests == []


def test_names_are_one_segment_of_the_path(bad: BadServer, client: Client) -> None:
    bad.behaviours = [answers({"error": {"code": "not_found", "message": "no"}}, 404)]
    with pytest.raises(errors.NotFound):
        client.open_cube("team/notes?x#y é")
    assert bad.requests[0].path == "/v1/cubes/team%2Fnotes%3Fx%23y%20%C3%A9"


def test_a_single_text_where_a_list_belongs_is_refused(client: Client) -> None:
    with pytest.raises(errors.InvalidInput, match="cubes is a list"):
        client.search("x", cubes="abc")


def test_the_user_of_the_client_holds_where_a_call_names_none(bad: BadServer) -> None:
    bad.behaviours = [answers({"items": [], "cursor": None})]
    with Client(bad.url, user="ada") as client:
        client.list()
        client.list(user="bob")
    assert [r.json["user"] for r in bad.requests] == ["ada", "bob"]


def test_pages_follow_one_another_as_they_are_needed(bad: BadServer, client: Client) -> None:
    memory = {"kind": "trace", "text": "t"}
    bad.behaviours = [
        answers({"items": [{"id": "1", **memory}, {"id": "2", **memory}], "cursor": "c1"}),
        answers({"items": [], "cursor": "c2"}),
        answers({"items": [{"id": "3", **memory}], "cursor": None}),
    ]
    found = client.iterate(limit=2)
    assert [next(found).id, next(found).id] == ["1", "2"]
    assert len(bad.requests) == 1
    assert [m.id for m in found] == ["3"]
    assert [r.json.get("cursor") for r in bad.requests] == [None, "c1", "c2"]


def test_a_wrong_argument_is_told_in_the_words_of_the_client(client: Client) -> None:
    with pytest.raises(TypeError, match=r"search\(\).*'top_k'; did you mean limit=\?"):
        client.search("x", top_k=3)  # type: ignore[call-arg]


def test_a_closed_client_says_so(bad: BadServer) -> None:
    client = Client(bad.url)
    bad.behaviours = [answers({"items": []})]
    client.list_cubes()
    client.close()
    client.close()
    with pytest.raises(errors.InvalidInput, match="this Client is closed"):
        client.list_cubes()


def test_many_threads_use_one_client(bad: BadServer) -> None:
    bad.behaviours = [answers({"items": []})]
    with Client(bad.url) as client:
        threads = [threading.Thread(target=client.list_cubes) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert len(bad.requests) == 20


def run_alone(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SRC)!r})\n{code}"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_client_loads_neither_http_nor_pydantic_nor_the_system() -> None:
    heavy = ["httpx2", "pydantic", "fastapi", "apsw", "memos.system"]
    assert run_alone(f"import memos.client\nprint([m for m in {heavy!r} if m in sys.modules])") == "[]"
