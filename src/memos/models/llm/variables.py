"""The language models that the variables of other installations name: values for our own settings, which stand above them.

A key alone switches no model on: only `MOS_CHAT_MODEL_PROVIDER` and `MOS_CHAT_MODEL` do, or our own `MEMOS_LLM`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memos.errors import InvalidInput
from memos.models.llm.providers import ALIASES, PROVIDERS, TRANSFORMERS

_USUAL_MODELS = {"openai": "gpt-4o-mini"}  # for a provider without a model
_LOCAL = "huggingface"


@dataclass(frozen=True, slots=True)
class Sourced:
    """The value of a setting, and the variable that it comes from."""

    value: str
    variable: str


def settings_from(env: Mapping[str, str], llm: str | None = None) -> dict[str, Sourced]:
    """Our settings as far as such variables say them; `llm`: what was said about the main model already.

    Raises InvalidInput for a variable that cannot be understood.
    """
    out: dict[str, Sourced] = {}
    main = llm if llm is not None else _main(env, out)
    if main.partition(":")[0] in ("", "none"):
        return {}
    provider = main.partition(":")[0]
    _own_server(env, "MEMRADER", "llm_reading", out)
    for variable, setting in (("FEEDBACK_MODEL", "llm_feedback"), ("IMAGE_PARSER_MODEL", "llm_vision")):
        if model := _value(env, variable):
            out[setting] = Sourced(f"{provider}:{model}", variable)
    _chat(env, out)
    return out


def _value(env: Mapping[str, str], name: str) -> str:
    return env.get(name, "").strip()


def _main(env: Mapping[str, str], out: dict[str, Sourced]) -> str:
    provider, model = _value(env, "MOS_CHAT_MODEL_PROVIDER").lower(), _value(env, "MOS_CHAT_MODEL")
    if not provider and not model:
        return "none"
    variable = "MOS_CHAT_MODEL_PROVIDER" if provider else "MOS_CHAT_MODEL"
    provider = _known(provider or "openai", variable, env)
    model = model or _usual_model(env, provider)
    if not model:
        raise InvalidInput(f"{variable} is set to {provider!r}; say which model in MOS_CHAT_MODEL")
    out["llm"] = Sourced(f"{provider}:{model}", "MOS_CHAT_MODEL" if _value(env, "MOS_CHAT_MODEL") else variable)
    return out["llm"].value


def _usual_model(env: Mapping[str, str], provider: str) -> str:
    return _value(env, f"{provider.upper()}_MODEL") or _USUAL_MODELS.get(provider, "")


def _known(provider: str, variable: str, env: Mapping[str, str]) -> str:
    name = ALIASES.get(provider, provider)
    if name == _LOCAL and not any(
        _value(env, v) for v in (*PROVIDERS[_LOCAL].usual.urls, *PROVIDERS[_LOCAL].usual.keys)
    ):
        return TRANSFORMERS  # there, the name means a model that runs in the process
    if name not in PROVIDERS and name != TRANSFORMERS:
        raise InvalidInput(f"{variable}: no provider {provider!r}; one of: {', '.join((*PROVIDERS, TRANSFORMERS))}")
    return name


def _own_server(env: Mapping[str, str], prefix: str, setting: str, out: dict[str, Sourced]) -> None:
    """A model with a server of its own, which speaks OpenAI's protocol."""
    if not (model := _value(env, f"{prefix}_MODEL")):
        return
    out[setting] = Sourced(f"openai:{model}", f"{prefix}_MODEL")
    for ending, part in (("API_BASE", "url"), ("API_KEY", "key")):
        if value := _value(env, f"{prefix}_{ending}"):
            out[f"{setting}_{part}"] = Sourced(value, f"{prefix}_{ending}")


def _chat(env: Mapping[str, str], out: dict[str, Sourced]) -> None:
    """The first of a list of chat models, which is the one that is used when a call names none."""
    variable = "CHAT_MODEL_LIST"
    if not (text := _value(env, variable)):
        return
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{variable} is no JSON") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidInput(f"{variable} is no list of models")
    if not rows:
        return
    first: dict[str, Any] = rows[0]
    if not (model := first.get("model_name_or_path")) or not isinstance(model, str):
        raise InvalidInput(f"{variable}: its first model has no model_name_or_path")
    provider = _known(str(first.get("backend") or "openai").lower(), variable, env)
    out["llm_chat"] = Sourced(f"{provider}:{model}", variable)
    for name, part in (("api_base", "url"), ("api_key", "key")):
        if value := first.get(name):
            out[f"llm_chat_{part}"] = Sourced(str(value), variable)
