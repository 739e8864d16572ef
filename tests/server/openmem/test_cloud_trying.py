"""extract/memory, rerank, chat and profiles (§1.12), and the envelope of errors."""

from __future__ import annotations

import pytest
from cloud_wire import BASE, Cloud

from memos import AsyncMemOS


async def test_extraction_reads_and_stores_nothing(cloud: Cloud, memos: AsyncMemOS) -> None:
    data = await cloud.ok(
        "extract/memory",
        messages=[
            {"role": "user", "content": "I'm Alex, I live in Hangzhou and I prefer tea."},
            {"role": "assistant", "content": "Hi Alex!"},
        ],
    )
    assert data["success"] is True
    assert {"memory_key", "memory_value", "memory_type", "tags"} <= set(data["memory_detail_list"][0])
    assert any("Hangzhou" in item["memory_value"] for item in data["memory_detail_list"])
    assert data["preference_detail_list"][0]["preference_type"] == "explicit_preference"
    assert await memos.list_cubes(user="user") == []
    assert await memos.list_cubes() == []


async def test_extraction_types_choose(cloud: Cloud) -> None:
    said = [{"role": "user", "content": "I live in Oslo. I prefer tea."}]
    only = await cloud.ok("extract/memory", messages=said, extraction_types=["preference"])
    assert (only["memory_detail_list"], len(only["preference_detail_list"])) == ([], 1)
    assert await cloud.error("extract/memory", messages=said, extraction_types=["dream"]) == (200, 40000)
    assert await cloud.error("extract/memory", messages=[]) == (200, 40000)


async def test_rerank_orders_by_the_question(cloud: Cloud) -> None:
    documents = ["The weather is fine.", "Refunds take fourteen days.", {"text": "A refund needs a receipt."}]
    data = await cloud.ok("rerank", query="How long does a refund take?", documents=documents)
    assert [row["index"] for row in data["results"]] == [1, 2, 0]
    assert data["results"][0]["document"] == documents[1]
    scores = [row["relevance_score"] for row in data["results"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] <= scores[0] <= 1
    assert len((await cloud.ok("rerank", query="refund", documents=documents, top_n=1))["results"]) == 1
    for body in ({"query": "x", "documents": []}, {"query": " ", "documents": ["x"]}, {"query": "x", "documents": [5]}):
        assert (await cloud.error("rerank", **body))[0] == 200


async def test_chat_is_unavailable_until_there_is_a_model(cloud: Cloud) -> None:
    assert await cloud.error("chat", user_id="alice", conversation_id="c", query="hi") == (503, 50002)


@pytest.mark.parametrize("path", ["bind/profile_template", "edit/profile", "delete/profile"])
async def test_profile_templates_are_not_supported_and_say_so(cloud: Cloud, path: str) -> None:
    assert await cloud.error(path, user_id="alice") == (200, 50005)


async def test_errors_of_the_frame_come_in_the_envelope_too(cloud: Cloud) -> None:
    for method, path, status in (("POST", "no/such", 404), ("GET", "add/message", 405)):
        answer = await cloud.client.request(method, f"{BASE}/{path}")
        told = answer.json()
        assert answer.status_code == status
        assert set(told) == {"code", "message", "data"}
        assert told["code"] >= 40000


async def test_a_body_that_is_no_json_is_a_bad_parameter(cloud: Cloud) -> None:
    headers = {"Content-Type": "application/json"}
    for content in (b"{", b"[]", b"null", b'"x"', b""):
        answer = await cloud.client.post(f"{BASE}/add/message", content=content, headers=headers)
        assert (answer.status_code, answer.json()["data"]) == (200, None), content
        assert 40000 <= answer.json()["code"] <= 40006, content
        answer = await cloud.client.post(f"{BASE}/add/knowledgebase-file", content=content, headers=headers)
        assert 40000 <= answer.json()["code"] <= 40006, content
