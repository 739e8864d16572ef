"""The language models that the settings name, one for each purpose, or one object that was given for all of them."""

from __future__ import annotations

from collections.abc import Callable

from memos.models.llm.factory import make_chat_model
from memos.models.llm.port import PURPOSES, ChatModel, Purpose
from memos.models.llm.purposes import Call, Llms
from memos.settings import Settings


def configured_llms(
    settings: Settings,
    given: ChatModel | None,
    record: Callable[[Call], None],
    check: Callable[[str], None] = lambda _: None,
) -> Llms:
    """The models of a system; see `Llms` for `record` and `check`. Raises InvalidInput for one that cannot be made."""
    made: dict[tuple[str, str, str], ChatModel] = {}
    models: dict[Purpose, ChatModel] = {}
    for purpose in PURPOSES:
        own = getattr(settings, f"llm_{purpose}")
        if not own and given is not None:
            models[purpose] = given
            continue
        spec, url, key = own or settings.llm, settings.llm_url, settings.llm_key
        if own:
            same = own.partition(":")[0] == settings.llm.partition(":")[0]
            own_url = getattr(settings, f"llm_{purpose}_url")
            key = getattr(settings, f"llm_{purpose}_key") or (key if same and own_url in ("", url) else "")
            url = own_url or (url if same else "")
        if (spec, url, key) not in made:
            model = make_chat_model(
                spec, base_url=url, api_key=key, timeout=settings.llm_timeout, concurrency=settings.llm_concurrency
            )
            if model is None:
                continue
            made[spec, url, key] = model
        models[purpose] = made[spec, url, key]
    return Llms(models, record, check)
