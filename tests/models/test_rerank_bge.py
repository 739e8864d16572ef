"""Rerankers as BGE servers offer them, and the variables of other installations that name one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memos.errors import InvalidInput, ModelError
from memos.models.factory import make_reranker
from memos.models.rerank import HttpReranker
from memos.recall.models import configured_reranker
from memos.settings import Settings

TEXTS = ["a boat", "a red car", ""]


def ranked(made: Any, texts: list[str] = TEXTS) -> list[float]:
    async def main() -> list[float]:
        try:
            scores: list[float] = await made.rerank("red car", texts)
            return scores
        finally:
            await made.aclose()

    return asyncio.run(main())


def bge(url: str, **options: Any) -> Any:
    return make_reranker("bge:bge-reranker-v2-m3", base_url=url, **options)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("", "/rerank"),
        ("/", "/rerank"),
        ("/v1", "/v1/rerank"),
        ("/v1/rerank", "/v1/rerank"),
        ("/api/rank/", "/api/rank"),
    ],
)
def test_the_address_is_that_of_the_server_or_the_whole_one(server: Any, address: str, path: str) -> None:
    assert ranked(bge(server.url + address)) == [0, pytest.approx(0.2), 0]
    (request,) = server.requests
    assert request.path == path
    assert request.body == {
        "model": "bge-reranker-v2-m3", "query": "red car", "documents": ["a boat", "a red car"], "top_n": 2
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]},
        {"data": [{"score": 0.1}, {"score": 0.9}]},
        {"data": [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}]},
        [{"score": 0.1}, {"score": 0.9}],
    ],
)
def test_answers_of_every_form_are_read(server: Any, reply: Any, body: object) -> None:
    server.script = [reply(body=body)]
    assert ranked(bge(server.url)) == [0.1, 0.9, 0]


@pytest.mark.parametrize(
    "body", [{}, {"data": []}, {"data": [{"score": 0.1}]}, {"results": [{"index": 5, "score": 1}, 3]}]
)
def test_an_answer_without_a_score_for_each_is_an_error_and_no_zero(server: Any, reply: Any, body: object) -> None:
    server.script = [reply(body=body)] * 3
    with pytest.raises(ModelError, match="usable scores"):
        ranked(bge(server.url))


def test_headers_and_key_are_sent(server: Any) -> None:
    ranked(bge(server.url, api_key="k", headers={"X-Tenant": "notes"}))
    assert server.requests[0].headers["X-Tenant"] == "notes"
    assert server.requests[0].headers["Authorization"] == "Bearer k"


def test_the_variables_of_other_installations_are_honoured(server: Any) -> None:
    env = {
        "MOS_RERANKER_BACKEND": "http_bge",
        "MOS_RERANKER_URL": f"{server.url}/api/rank",
        "MOS_RERANKER_MODEL": "other",
        "MOS_RERANKER_HEADERS_EXTRA": '{"X-Tenant": "notes"}',
    }
    made = configured_reranker(Settings.load(env))
    assert isinstance(made, HttpReranker) and made.model_id == "bge:other"
    ranked(made)
    assert (server.requests[0].path, server.requests[0].headers["X-Tenant"]) == ("/api/rank", "notes")
    assert Settings.load({**env, "MEMOS_RERANKER": "none"}).reranker_url == ""
    assert Settings.load({**env, "MOS_RERANKER_MODEL": ""}).reranker == "bge:bge-reranker-v2-m3"
    shown = {name: value for name, value, _ in Settings.load(env).rows()}
    assert shown["reranker_headers"] == "set"


@pytest.mark.parametrize("backend", ["", "cosine_local", "noop"])
def test_without_a_server_there_is_no_reranker(backend: str) -> None:
    assert Settings.load({"MOS_RERANKER_BACKEND": backend, "MOS_RERANKER_URL": "http://h"}).reranker == "none"


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"MOS_RERANKER_BACKEND": "colbert"}, "MOS_RERANKER_BACKEND"),
        ({"MOS_RERANKER_BACKEND": "http_bge"}, "MOS_RERANKER_URL"),
        ({"MOS_RERANKER_BACKEND": "http_bge", "MOS_RERANKER_URL": "host:1"}, "MOS_RERANKER_URL"),
        (
            {
                "MOS_RERANKER_BACKEND": "http_bge",
                "MOS_RERANKER_URL": "http://h",
                "MOS_RERANKER_HEADERS_EXTRA": '["secret"]',
            },
            "MOS_RERANKER_HEADERS_EXTRA",
        ),
        ({"MEMOS_RERANKER_HEADERS": '{"a": "b\\n"}'}, "MEMOS_RERANKER_HEADERS"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(env: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInput, match=named) as caught:
        Settings.load(env)
    assert "secret" not in str(caught.value)


def test_a_model_without_a_server_is_refused() -> None:
    with pytest.raises(InvalidInput, match="MEMOS_RERANKER_URL"):
        make_reranker("bge:m")
    with pytest.raises(InvalidInput, match="model name"):
        make_reranker("bge", base_url="http://h")
