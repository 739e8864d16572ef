from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from memos.errors import DimensionMismatch, InvalidInput, ModelError, ModelTimeout, ModelUnavailable
from memos.models.embed import Embedder
from memos.models.http import JsonClient
from memos.models.ollama import OllamaEmbeddings
from memos.models.openai import OpenAIEmbeddings
from memos.models.remote import Prefixes, RemoteEmbedder
from memos.models.resilience import CircuitBreaker, CircuitState, Failure, Guard, RetryPolicy, retry_after_seconds
from memos.models.windows import Limits

QUICK = RetryPolicy(attempts=3, timeout=2, budget=5, base=0.01, longest=0.02)
KEY = "sk-very-secret"
PROTOCOLS = ["openai", "ollama"]


def api(server, protocol="openai", **options):
    if protocol == "openai":
        return OpenAIEmbeddings("emb-1", base_url=f"{server.url}/v1", api_key=KEY, **options)
    return OllamaEmbeddings("emb-1", base_url=server.url, **options)


def remote(server, protocol="openai", *, dimensions=None, **options):
    made = api(server, protocol, **({"dimensions": dimensions} if dimensions else {}))
    return RemoteEmbedder(made, **{"documents": QUICK, "queries": QUICK, **options})


def embed(embedder, *texts, purpose="document"):
    async def main():
        try:
            return await embedder.embed(list(texts), purpose=purpose)
        finally:
            await embedder.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_texts_come_back_as_unit_vectors_in_order(server, protocol):
    embedder = remote(server, protocol)
    assert isinstance(embedder, Embedder)
    rows = embed(embedder, "one", "two", "三")
    assert rows.shape == (3, 8)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(embed(embedder, "三", "one"), rows[[2, 0]], atol=1e-6)
    assert embedder.dim == 8
    assert embedder.model_id == f"{protocol}:emb-1"


def test_requests_are_what_the_protocols_ask_for(server):
    embed(remote(server, dimensions=8), "one")
    embed(remote(server, "ollama"), "one")
    openai, ollama = server.requests
    assert openai.path == "/v1/embeddings"
    assert openai.headers["Authorization"] == f"Bearer {KEY}"
    assert openai.body == {"model": "emb-1", "input": ["one"], "encoding_format": "float", "dimensions": 8}
    assert ollama.path == "/api/embed"
    assert "Authorization" not in ollama.headers
    assert ollama.body == {"model": "emb-1", "input": ["one"], "truncate": False}


def test_blank_texts_are_not_sent(server):
    rows = embed(remote(server), "", "one", " \n")
    assert server.texts == ["one"]
    assert not rows[[0, 2]].any()
    assert embed(remote(server, dim=8), "", " ").shape == (2, 8)
    assert len(server.requests) == 1


def test_many_texts_go_in_bounded_requests(server):
    texts = [f"text number {i}" for i in range(50)]
    rows = embed(remote(server, limits=Limits(batch_texts=7, batch_tokens=1000)), *texts)
    assert sorted(server.texts) == sorted(texts)
    assert max(len(request.body["input"]) for request in server.requests) == 7
    np.testing.assert_allclose(rows, embed(remote(server), *texts), atol=1e-6)


def test_a_long_text_is_sent_whole_in_windows_and_averaged(server):
    text = " ".join(f"word{i}" for i in range(300))
    (row,) = embed(remote(server, limits=Limits(text_tokens=50)), text)
    assert "".join(server.texts) == text
    assert len(server.texts) > 10
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_prefixes_tell_questions_from_documents(server):
    embedder = remote(server, prefixes=Prefixes("passage: ", "query: "))
    embed(embedder, "one")
    embed(embedder, "one", purpose="query")
    assert server.texts == ["passage: one", "query: one"]


def test_a_lone_surrogate_is_replaced(server):
    embed(remote(server), "a\ud800b")
    assert server.texts == ["a?b"]


def test_a_busy_server_is_asked_again_after_the_time_it_named(server, reply):
    naps = []

    async def nap(seconds):
        naps.append(seconds)

    server.script = [reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "2"}), reply(500), reply()]
    assert embed(remote(server, guard=Guard("srv", sleep=nap)), "one").shape == (1, 8)
    assert naps[0] == 2
    assert len(server.requests) == 3


def test_a_server_that_stays_broken_is_unavailable(server, reply):
    server.script = [reply(503, {"error": {"message": "overloaded"}})] * 3
    with pytest.raises(ModelUnavailable, match="503: overloaded"):
        embed(remote(server), "one")
    assert len(server.requests) == 3


def test_a_slow_server_times_out(server, reply):
    embed(remote(server), "one")  # what only a first call has to load takes nothing from the time of an attempt
    server.requests.clear()
    server.script = [reply(delay=1.5)] * 2
    policy, naps = RetryPolicy(attempts=2, timeout=1.0, budget=20, base=0.01), []

    async def nap(seconds):
        naps.append(seconds)

    with pytest.raises(ModelTimeout, match=r"did not answer within 1\.0 s"):
        embed(remote(server, queries=policy, guard=Guard("srv", sleep=nap)), "one", purpose="query")
    assert len(naps) == 1
    until = time.monotonic() + 5
    while len(server.requests) < 2 and time.monotonic() < until:
        time.sleep(0.01)  # the server may note a request after the client has given it up
    assert len(server.requests) == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "body",
    [
        b"<html>not json</html>",
        b"",
        b"[]",
        {"data": "x", "embeddings": "x"},
        {"data": [], "embeddings": []},
        {"data": [{"index": 0, "embedding": [1, 2]}] * 2, "embeddings": [[1, 2]]},
        {"data": [{"index": 5, "embedding": [1, 2]}, 7], "embeddings": [[1, 2], 7]},
        {"data": [{"index": [0], "embedding": [1, 2]}, {"index": {}}], "embeddings": [{}, {}]},
        b'{"data": [{"embedding": [1e999]}, {"embedding": [1]}], "embeddings": [[1e999], [1]]}',
        b"[" * 100_000,
        {"data": [{"embedding": [1, float("nan")]}, {"embedding": [1, 2]}], "embeddings": [[1, float("nan")], [1, 2]]},
        {"data": [{"embedding": None}, {"embedding": [1, 2]}], "embeddings": [None, [1, 2]]},
        {"data": [{"embedding": [1]}, {"embedding": [1, 2]}], "embeddings": [[1], [1, 2]]},
        {"data": [{"embedding": ["a"]}, {"embedding": ["b"]}], "embeddings": [["a"], ["b"]]},
    ],
)
def test_nonsense_is_a_model_error_and_not_repeated(server, reply, protocol, body):
    server.script = [reply(body=body)]
    with pytest.raises(ModelError):
        embed(remote(server, protocol), "one", "two")
    assert len(server.requests) == 1


def test_another_length_than_declared_or_seen_is_a_mismatch(server, reply):
    with pytest.raises(DimensionMismatch, match="length 8, declared was 9"):
        embed(remote(server, dim=9), "one")
    embedder = remote(server)
    embed(embedder, "one")
    server.script = [reply(body={"data": [{"index": 0, "embedding": [1, 2, 3]}]})]
    with pytest.raises(DimensionMismatch, match="length 3, declared was 8"):
        embed(embedder, "two")


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (401, ModelUnavailable, "check the API key"),
        (404, ModelUnavailable, "check the model name"),
        (400, ModelError, "400: no such thing"),
        (302, ModelError, "302"),
    ],
)
def test_a_refusal_says_why_at_once_and_never_shows_the_key(server, reply, status, error, says):
    server.script = [reply(status, {"error": "no such thing"}, {"Location": server.url})]
    embedder = remote(server)
    with pytest.raises(error, match=says) as caught:
        embed(embedder, "one")
    assert len(server.requests) == 1
    assert KEY not in str(caught.value) + repr(JsonClient(server.url, api_key=KEY))
    assert embedder.circuit is CircuitState.CLOSED


@pytest.mark.parametrize("status", [400, 401, 500])
def test_what_a_server_repeats_of_a_key_or_a_password_is_not_told(server, reply, status):
    url = server.url.replace("http://", "http://ada:s3cr%3Ft-pass@")
    said = f"not with Basic YWRhOnMzY3I/dC1wYXNz, {KEY}, s3cr?t-pass, ada:s3cr%3Ft-pass"
    server.script = [reply(status, {"error": said})]
    client = JsonClient(f"{url}/v1", headers={"X-Token": KEY})

    async def main():
        with pytest.raises(Failure) as caught:
            await client.post("/embeddings", {"input": ["one"]})
        await client.aclose()
        return str(caught.value)

    said = asyncio.run(main())
    assert server.requests[0].headers["Authorization"] == "Basic YWRhOnMzY3I/dC1wYXNz"
    assert said.count("***") >= 4
    assert not any(secret in said for secret in (KEY, "s3cr", "YWRh"))


def test_a_key_beside_a_password_is_refused_for_only_one_could_be_sent():
    with pytest.raises(InvalidInput, match="give one of them") as caught:
        JsonClient("http://ada:s3cret@127.0.0.1/v1", api_key=KEY)
    assert not any(secret in str(caught.value) for secret in (KEY, "s3cret"))
    JsonClient("http://ada:s3cret@127.0.0.1/v1", api_key=KEY, key_header="api-key")


@pytest.mark.parametrize("key", ["sk-very\nsecret", "sk-very-secr\u00e9t"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key):
    with pytest.raises(InvalidInput, match="cannot stand in a header") as caught:
        JsonClient("http://127.0.0.1/v1", api_key=key)
    assert "very" not in str(caught.value)


def test_no_server_says_how_to_start_it(closed_port):
    embedder = RemoteEmbedder(OllamaEmbeddings("emb-1", base_url=closed_port), documents=RetryPolicy(attempts=1))
    with pytest.raises(ModelUnavailable, match=r"`ollama serve`.*`ollama pull emb-1`"):
        embed(embedder, "one")


def test_a_dead_server_is_left_alone_and_found_again(server, reply):
    now = [0.0]
    breaker = CircuitBreaker("srv", threshold=2, cool_down=5, clock=lambda: now[0])
    once = RetryPolicy(attempts=1, timeout=1)
    embedder = remote(server, documents=once, guard=Guard("srv", breaker=breaker), limits=Limits(batch_texts=1))
    server.script = [reply(500)] * 2
    for _ in range(4):
        with pytest.raises(ModelUnavailable):
            embed(embedder, "one")
    assert embedder.circuit is CircuitState.OPEN
    assert len(server.requests) == 2
    now[0] = 5.0
    assert embed(embedder, *"abcdefgh").shape == (8, 8)  # many requests, of which one probes first
    assert embedder.circuit is CircuitState.CLOSED


def test_one_embedder_serves_several_event_loops(server):
    embedder = remote(server)
    first = asyncio.run(embedder.embed(["one"], purpose="query"))
    np.testing.assert_array_equal(first, asyncio.run(embedder.embed(["one"], purpose="query")))


def test_retry_after_is_read_as_seconds_or_as_a_date():
    assert retry_after_seconds("1.5") == 1.5
    assert retry_after_seconds("-3") == 0
    assert retry_after_seconds("nan") is retry_after_seconds("soon") is retry_after_seconds(None) is None
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 < retry_after_seconds(date) <= 30


def test_a_base_url_must_be_http():
    with pytest.raises(InvalidInput, match="must start with http"):
        JsonClient("localhost:11434")
