"""The wire as existing clients know it: golden requests and answers, compared field by field."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from golden_steps import FOLDER, differences, run


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda f: f.stem)
async def test_answers_are_those_of_the_wire(app_client: httpx2.AsyncClient, file: Path) -> None:
    await run(app_client, file)


@pytest.mark.parametrize(
    ("want", "have"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "...": 0}, {"b": 1}),
        (["<id>"], ["no id"]),
        (["<id>"], []),
        ("<time>", None),
        (["..."], {}),
    ],
)
def test_the_comparison_sees_differences(want: object, have: object) -> None:
    assert list(differences(want, have, "x"))
