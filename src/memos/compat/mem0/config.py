"""A configuration of mem0's `Memory` as settings of ours: models, and the folder of the data. What has no counterpart is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput

_LLMS = {  # theirs -> ours
    "openai": "openai",
    "openai_structured": "openai",
    "anthropic": "anthropic",
    "azure_openai": "azure",
    "azure_openai_structured": "azure",
    "deepseek": "deepseek",
    "lmstudio": "openai-compatible",
    "minimax": "minimax",
    "ollama": "ollama",
    "vllm": "vllm",
}
_EMBEDDERS = {"openai": "openai", "lmstudio": "openai", "ollama": "ollama", "huggingface": "st"}
_LMSTUDIO = "http://localhost:1234/v1"  # where mem0 expects it
_MODEL = {"model", "api_key", "base_url"}
_PARTS = ("llm", "embedder", "vector_store", "reranker")
_KNOWN = {*_PARTS, "history_db_path", "version", "custom_instructions"}
_PLACE = {"path", "collection_name", "on_disk", "embedding_model_dims"}


@dataclass(slots=True)
class Mapped:
    """What `MemOS` is to be made with, and a sentence for everything that is different here."""

    settings: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def mapped(config: object) -> Mapped:
    """Read a configuration: a dictionary as for `Memory.from_config`, mem0's own object, or None for the defaults.

    Raises InvalidInput for what is no configuration.
    """
    given = _plain(config)
    out = Mapped()
    unknown = sorted(set(given) - _KNOWN)
    if unknown:
        raise InvalidInput(f"unknown key {unknown[0]!r} in the configuration; there are {', '.join(sorted(_KNOWN))}")
    parts = {name: _part(given, name) for name in _PARTS}
    if given.get("llm") is not None:
        _llm(parts["llm"], out)
    if given.get("embedder") is not None:
        _embedder(parts["embedder"], out)
    if given.get("reranker") is not None:
        out.notices.append("reranker is not taken over; set MEMOS_RERANKER, or rerank=False costs nothing here")
    _home(given, parts["vector_store"], out)
    if given.get("custom_instructions"):
        out.notices.append("custom_instructions are not taken over; say what is to be read with configure_reading()")
    return out


def _plain(config: object) -> dict[str, Any]:
    if config is None:
        return {}
    if hasattr(config, "model_dump"):
        config = config.model_dump(exclude_unset=True)
    if not isinstance(config, Mapping):
        raise InvalidInput(f"a configuration is a dictionary, got {type(config).__name__}")
    return dict(config)


def _part(given: Mapping[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    """The provider and the configuration of one part."""
    part = _plain(given.get(name))
    provider = part.get("provider") or ("qdrant" if name == "vector_store" else "openai")
    return str(provider), _plain(part.get("config"))


def _llm(part: tuple[str, dict[str, Any]], out: Mapped) -> None:
    provider, config = part
    url = _address(provider, config, out)
    ours = _LLMS.get(provider)
    if ours is None and url:  # most servers speak the protocol
        ours = "openai-compatible"
    model = config.get("model")
    if ours is None or not model:
        why = "names no model" if ours is not None else "is no provider that is known here, and no address is given"
        out.notices.append(f"llm: {provider!r} {why}; memories are read by rules, or by the model in MEMOS_LLM")
        return
    out.settings |= {"llm": f"{ours}:{model}", "llm_url": url, "llm_key": config.get("api_key")}
    _told("llm", config, out)


def _embedder(part: tuple[str, dict[str, Any]], out: Mapped) -> None:
    provider, config = part
    ours, model = _EMBEDDERS.get(provider), config.get("model")
    if ours is None or not model:
        why = "names no model" if ours is not None else "is no provider that is known here"
        out.notices.append(f"embedder: {provider!r} {why}; vectors are made by the default one, on this machine")
        return
    url = _address(provider, config, out)
    out.settings |= {"embedder": f"{ours}:{model}"}
    if ours != "st":
        out.settings |= {"embedder_url": url, "embedder_key": config.get("api_key")}
    _told("embedder", config, out, but={"embedding_dims"})


def _address(provider: str, config: Mapping[str, Any], out: Mapped) -> str | None:
    """Where a model is: mem0 has a key of its own for each provider."""
    names = [name for name in config if name.endswith("base_url") and config[name]]
    if names:
        return str(config[names[0]])
    azure = _plain(config.get("azure_kwargs"))
    return azure.get("azure_endpoint") or (_LMSTUDIO if provider == "lmstudio" else None)


def _told(part: str, config: Mapping[str, Any], out: Mapped, but: set[str] | frozenset[str] = frozenset()) -> None:
    """Say what else was asked of a model."""
    more = {name for name, value in config.items() if value is not None} - _MODEL - but
    left = sorted(name for name in more if not name.endswith("base_url"))
    if left:
        out.notices.append(f"{part}: {', '.join(left)} are not taken over; see the settings MEMOS_{part.upper()}_…")


def _home(given: Mapping[str, Any], store: tuple[str, dict[str, Any]], out: Mapped) -> None:
    """The folder of the data: in that of the vectors, or else beside the history."""
    provider, config = store
    path, history = config.get("path"), given.get("history_db_path")
    if path:
        out.settings["home"] = Path(str(path)).expanduser() / "memos"
    elif history and str(history) != ":memory:":
        out.settings["home"] = Path(str(history)).expanduser().parent / "memos"
    if given.get("vector_store") is not None and not path:
        out.notices.append(f"vector_store: nothing is sent to {provider!r}; vectors are kept with the memories")
    elif given.get("vector_store") is not None and set(config) - _PLACE:
        out.notices.append(f"vector_store: {', '.join(sorted(set(config) - _PLACE))} mean nothing here")
    if path or history:
        kept = out.settings.get("home", "its usual folder")
        out.notices.append(f"memories and their history are kept in {kept}; what is in a store of mem0 is not read")
