"""How well texts that are not stored answer a question: by the reranker where there is one, else by shared words and meaning."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence

from memos.errors import ModelError
from memos.logs import get_logger
from memos.models.embed import Embedder
from memos.models.rerank import Reranker
from memos.text.analysis import analyze

log = get_logger(__name__)

DENSE = 0.5  # share of meaning in the score, where an embedder answers


async def judge(
    query: str, texts: Sequence[str], embedder: Embedder | None, reranker: Reranker | None = None
) -> list[float]:
    """A score from 0 to 1 for each text, in the order given. A model that fails is done without."""
    if reranker is not None:
        try:
            return [min(1.0, max(0.0, float(score))) for score in await reranker.rerank(query, texts)]
        except ModelError as e:
            log.warning("judged_without_reranker", error=e.code)
    words = await asyncio.to_thread(by_words, query, texts)
    if embedder is None:
        return words
    try:
        asked, vectors = await asyncio.gather(
            embedder.embed([query], purpose="query"), embedder.embed(texts, purpose="document")
        )
    except ModelError as e:
        log.warning("judged_without_vectors", error=e.code)
        return words
    nearness = (vectors @ asked[0]).clip(0, 1)
    return [(1 - DENSE) * word + DENSE * float(near) for word, near in zip(words, nearness, strict=True)]


def by_words(query: str, texts: Sequence[str]) -> list[float]:
    """For each text the share of the question's words that it holds, rare ones (among these texts) counting more."""
    asked = analyze(query, query=True)
    terms = set(asked.content_terms() or asked.terms)
    held = [terms.intersection(analyze(text).terms) for text in texts]
    frequency = Counter(term for found in held for term in found)
    rarity = {t: math.log(1 + (len(texts) - frequency[t] + 0.5) / (frequency[t] + 0.5)) for t in terms}
    whole = sum(rarity.values())
    return [sum(rarity[t] for t in found) / whole if whole else 0.0 for found in held]
