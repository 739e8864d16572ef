"""The providers of language models, as data: where each is, which variables name its server and key, and what is odd about it.

A server that takes less than is said here is found out by its own refusals (`remote`); nothing here must be exact for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memos.errors import InvalidInput
from memos.models.address import Usual
from memos.models.llm.openai_chat import Holds, TokensField


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider.

    `usual`: its variables, and its own server if that wants a key. `url`: asked when no variable says otherwise; empty: one must.
    `below`: what the address needs at its end if it has no path. `holds`: how it holds a model to a form. `tokens`: how the
    longest answer is called at its own server. `extra`: fields of every request. `hint`: what to do if it cannot be reached.
    """

    usual: Usual
    url: str = ""
    below: str = ""
    protocol: Literal["openai", "azure", "anthropic"] = "openai"
    holds: Holds = "json_schema"
    tokens: TokensField = "max_tokens"
    key_header: str = "Authorization"
    extra: Mapping[str, Any] = field(default_factory=dict)
    bare_host: bool = False
    hint: str = "check the base URL and that the server runs"


_ONLINE = "check the network and MEMOS_LLM_URL"

PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        Usual(("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",), "api.openai.com"),
        "https://api.openai.com/v1",
        tokens="max_completion_tokens",
        hint=_ONLINE,
    ),
    "azure": Provider(
        Usual(("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"), ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY")),
        protocol="azure",
        tokens="max_completion_tokens",
        key_header="api-key",
        hint=_ONLINE,
    ),
    "anthropic": Provider(
        Usual(("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"), ("ANTHROPIC_API_KEY",), "api.anthropic.com"),
        "https://api.anthropic.com",
        protocol="anthropic",
        key_header="x-api-key",
        hint=_ONLINE,
    ),
    "qwen": Provider(
        Usual(
            ("QWEN_API_BASE", "DASHSCOPE_BASE_URL", "DASHSCOPE_API_BASE"),
            ("QWEN_API_KEY", "DASHSCOPE_API_KEY"),
            "dashscope.aliyuncs.com",
        ),
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        holds="json_object",
        extra={"enable_thinking": False},  # JSON is only held to without it
        hint=_ONLINE,
    ),
    "deepseek": Provider(
        Usual(("DEEPSEEK_API_BASE", "DEEPSEEK_BASE_URL"), ("DEEPSEEK_API_KEY",), "api.deepseek.com"),
        "https://api.deepseek.com",
        holds="json_object",
        hint=_ONLINE,
    ),
    "minimax": Provider(
        Usual(("MINIMAX_API_BASE", "MINIMAX_BASE_URL"), ("MINIMAX_API_KEY",), "api.minimax.io"),
        "https://api.minimax.io/v1",
        holds="json_object",
        tokens="max_completion_tokens",
        extra={"reasoning_split": True},
        hint=_ONLINE,
    ),
    "huggingface": Provider(
        Usual(
            ("HUGGINGFACE_API_BASE",),
            ("HF_TOKEN", "HUGGINGFACE_API_KEY", "HUGGING_FACE_HUB_TOKEN"),
            "router.huggingface.co",
        ),
        "https://router.huggingface.co/v1",
        hint=_ONLINE,
    ),
    "ollama": Provider(
        Usual(("OLLAMA_HOST", "OLLAMA_API_BASE")),
        "http://127.0.0.1:11434",
        below="/v1",
        bare_host=True,
        hint="start it with `ollama serve` and get the model with `ollama pull`",
    ),
    "vllm": Provider(
        Usual(("VLLM_API_BASE", "VLLM_BASE_URL"), ("VLLM_API_KEY",)),
        "http://127.0.0.1:8000/v1",
        hint="start it with `vllm serve MODEL`, or set VLLM_API_BASE",
    ),
    "openai-compatible": Provider(Usual()),
}

ALIASES: Mapping[str, str] = {
    "dashscope": "qwen",
    "hf": "huggingface",
    "azure-openai": "azure",
    "compatible": "openai-compatible",
    "openai_compatible": "openai-compatible",
    "huggingface_singleton": "huggingface",
    "openai_new": "openai",
}

TRANSFORMERS = "transformers"
REPLAY = "replay"
SPECS = ", ".join(f"{name}:MODEL" for name in (*PROVIDERS, TRANSFORMERS)) + f", {REPLAY}:FILE, none"


def parse_spec(spec: str) -> tuple[str, str]:
    """(provider, model) of `provider:model`, or ("none", ""). Raises InvalidInput."""
    provider, _, model = spec.strip().partition(":")
    provider, model = provider.strip().lower(), model.strip()
    provider = ALIASES.get(provider, provider)
    if provider in ("", "none") and not model:
        return "none", ""
    if provider not in PROVIDERS and provider not in (TRANSFORMERS, REPLAY):
        hint = "" if ":" in spec else " (a provider goes before the model: provider:model)"
        raise InvalidInput(f"no language model {spec!r}{hint}; one of: {SPECS}")
    if not model:
        raise InvalidInput(f"the provider {provider!r} needs a model: {provider}:MODEL")
    return provider, model
