from __future__ import annotations

import asyncio

import pytest

from memos.errors import ModelError, ModelUnavailable
from memos.models.rerank import HttpReranker, Reranker
from memos.models.resilience import RetryPolicy
from memos.models.windows import Limits

QUICK = RetryPolicy(attempts=2, timeout=2, budget=5, base=0.01)
DIALECTS = ["cohere", "jina", "tei"]


def reranker(server, dialect="cohere", **options):
    return HttpReranker(dialect, "rr-1", base_url=server.url, api_key="k", **{"policy": QUICK, **options})


def rerank(made, query, texts):
    async def main():
        try:
            return await made.rerank(query, texts)
        finally:
            await made.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_scores_come_back_in_the_order_of_the_texts(server, dialect):
    made = reranker(server, dialect)
    assert isinstance(made, Reranker)
    scores = rerank(made, "red car", ["a boat", "a red car", "", "a red boat"])
    assert scores == [0, pytest.approx(0.2), 0, pytest.approx(0.1)]


def test_requests_are_what_the_dialects_ask_for(server):
    for dialect in DIALECTS:
        rerank(reranker(server, dialect), "q", ["one", " ", "two"])
    cohere, jina, tei = server.requests
    assert {request.path for request in server.requests} == {"/rerank"}
    expected = {"model": "rr-1", "query": "q", "documents": ["one", "two"], "top_n": 2}
    assert cohere.body == expected
    assert jina.body == {**expected, "return_documents": False}
    assert tei.body == {"query": "q", "texts": ["one", "two"], "raw_scores": False}
    assert cohere.headers["Authorization"] == "Bearer k"


def test_nothing_to_judge_asks_nobody(server):
    assert rerank(reranker(server), "q", []) == []
    assert rerank(reranker(server), " ", ["one"]) == [0]
    assert rerank(reranker(server), "q", ["", "\n"]) == [0, 0]
    assert server.requests == []


def test_a_long_text_gets_the_score_of_its_best_window(server):
    text = "filler " * 400 + "red car"
    made = reranker(server, limits=Limits(text_tokens=40, batch_texts=9, batch_tokens=10_000))
    assert rerank(made, "red car", ["nothing", text]) == [0, pytest.approx(0.2)]
    assert len(server.requests) > 1


def test_logits_become_scores_between_0_and_1(server, reply):
    server.script = [
        reply(body=[{"index": 0, "score": -800.0}, {"index": 1, "score": 0.5}, {"index": 2, "score": 800.0}])
    ]
    low, middle, high = rerank(reranker(server, "tei"), "q", ["a", "b", "c"])
    assert low == pytest.approx(0)
    assert 0.6 < middle < 0.7
    assert high == pytest.approx(1)


@pytest.mark.parametrize(
    "body",
    [
        b"nope",
        {},
        {"results": [{"index": 0, "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": 0.5}] * 2},
        {"results": [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": float("nan")}]},
        {"results": [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": "high"}]},
        {"results": [{"index": 0, "relevance_score": 0.5}, {"index": 7, "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": 0.5}, {"index": [1], "relevance_score": 0.5}]},
    ],
)
def test_nonsense_is_a_model_error(server, reply, body):
    server.script = [reply(body=body)]
    with pytest.raises(ModelError):
        rerank(reranker(server), "q", ["a", "b"])


def test_a_broken_server_is_retried_then_reported(server, reply):
    server.script = [reply(502), reply()]
    assert rerank(reranker(server), "q", ["q"]) == [pytest.approx(0.1)]
    server.script = [reply(502)] * 2
    with pytest.raises(ModelUnavailable, match="502"):
        rerank(reranker(server), "q", ["q"])
