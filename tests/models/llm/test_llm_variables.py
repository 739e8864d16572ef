"""Variables of other installations name language models, below our own, and a key alone names none."""

from __future__ import annotations

import json

import pytest

from memos.errors import InvalidInput
from memos.settings import Settings


def settings(env: dict[str, str], **given: object) -> Settings:
    return Settings.load(env, **given)


@pytest.mark.parametrize(
    "env",
    [
        {"OPENAI_API_KEY": "sk-x", "OPENAI_API_BASE": "http://a"},
        {"MEMRADER_MODEL": "m", "MEMRADER_API_KEY": "sk-x"},
        {"FEEDBACK_MODEL": "m", "QWEN_API_KEY": "x", "CHAT_MODEL_LIST": "no json"},
        {"MOS_CHAT_MODEL": "  "},
        {"MOS_CHAT_MODEL": "gpt-4o", "MEMOS_LLM": "none", "MEMRADER_MODEL": "m"},
    ],
)
def test_neither_a_key_nor_a_side_model_switches_a_model_on(env: dict[str, str]) -> None:
    assert (settings(env).llm, settings(env).llm_reading) == ("none", "")


@pytest.mark.parametrize(
    ("env", "llm"),
    [
        ({"MOS_CHAT_MODEL": "gpt-4o"}, "openai:gpt-4o"),
        ({"MOS_CHAT_MODEL_PROVIDER": "openai"}, "openai:gpt-4o-mini"),
        ({"MOS_CHAT_MODEL_PROVIDER": "Qwen", "MOS_CHAT_MODEL": "qwen3-max"}, "qwen:qwen3-max"),
        ({"MOS_CHAT_MODEL_PROVIDER": "qwen", "QWEN_MODEL": "qwen-flash"}, "qwen:qwen-flash"),
        ({"MOS_CHAT_MODEL_PROVIDER": "minimax", "MOS_CHAT_MODEL": "M", "MINIMAX_API_KEY": "k"}, "minimax:M"),
        ({"MOS_CHAT_MODEL_PROVIDER": "vllm", "MOS_CHAT_MODEL": "a/b"}, "vllm:a/b"),
        ({"MOS_CHAT_MODEL_PROVIDER": "huggingface", "MOS_CHAT_MODEL": "a/b"}, "transformers:a/b"),
        ({"MOS_CHAT_MODEL_PROVIDER": "huggingface", "MOS_CHAT_MODEL": "a/b", "HF_TOKEN": "t"}, "huggingface:a/b"),
        ({"MOS_CHAT_MODEL": "gpt-4o", "MEMOS_LLM": "ollama:qwen3"}, "ollama:qwen3"),
    ],
)
def test_the_main_model(env: dict[str, str], llm: str) -> None:
    assert settings(env).llm == llm
    assert settings(env, llm="azure:d").llm == "azure:d"


def test_the_side_models_follow_the_main_one() -> None:
    env = {
        "MOS_CHAT_MODEL": "gpt-4o",
        "MEMRADER_MODEL": "reader",
        "MEMRADER_API_KEY": "sk-r",
        "MEMRADER_API_BASE": "http://reader/v1",
        "FEEDBACK_MODEL": "small",
        "IMAGE_PARSER_MODEL": "seeing",
    }
    got = settings(env)
    assert (got.llm_reading, got.llm_reading_url, got.llm_reading_key) == ("openai:reader", "http://reader/v1", "sk-r")
    assert (got.llm_feedback, got.llm_vision, got.llm_chat) == ("openai:small", "openai:seeing", "")
    assert settings({**env, "MEMOS_LLM_READING": "qwen:x"}).llm_reading == "qwen:x"
    assert settings({**env, "MEMOS_LLM": "ollama:y"}).llm_feedback == "ollama:small"
    assert "sk-r" not in repr(got)


def test_the_first_of_the_chat_models_is_used_for_chat() -> None:
    row = {
        "backend": "deepseek",
        "api_base": "http://d",
        "api_key": "k",
        "model_name_or_path": "r1",
        "support_models": ["r1"],
    }
    got = settings({"MOS_CHAT_MODEL": "gpt-4o", "CHAT_MODEL_LIST": json.dumps([row, {"model_name_or_path": "b"}])})
    assert (got.llm_chat, got.llm_chat_url, got.llm_chat_key) == ("deepseek:r1", "http://d", "k")
    assert settings({"MOS_CHAT_MODEL": "gpt-4o", "CHAT_MODEL_LIST": "[]"}).llm_chat == ""


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"MOS_CHAT_MODEL_PROVIDER": "nobody"}, "MOS_CHAT_MODEL_PROVIDER: no provider 'nobody'; one of: openai"),
        ({"MOS_CHAT_MODEL_PROVIDER": "vllm"}, "say which model in MOS_CHAT_MODEL"),
        ({"MOS_CHAT_MODEL": "m", "CHAT_MODEL_LIST": "{"}, "CHAT_MODEL_LIST is no JSON"),
        ({"MOS_CHAT_MODEL": "m", "CHAT_MODEL_LIST": '{"a": 1}'}, "CHAT_MODEL_LIST is no list"),
        (
            {"MOS_CHAT_MODEL": "m", "CHAT_MODEL_LIST": "[{}]"},
            "CHAT_MODEL_LIST: its first model has no model_name_or_path",
        ),
        (
            {"MOS_CHAT_MODEL": "m", "MEMRADER_MODEL": "r", "MEMRADER_API_BASE": "nowhere"},
            "MEMRADER_API_BASE: llm_reading_url must",
        ),
        (
            {"MOS_CHAT_MODEL": "m", "MEMRADER_MODEL": "r", "MEMRADER_API_KEY": "ключ"},
            "MEMRADER_API_KEY: llm_reading_key",
        ),
    ],
)
def test_what_cannot_be_used_is_said_with_its_variable(env: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        settings(env)
    assert said in str(caught.value)
    assert "ключ" not in str(caught.value)
