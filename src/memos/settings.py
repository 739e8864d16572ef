"""One settings object, validated when made. Values come from arguments, then environment variables, then defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from memos.errors import InvalidInput
from memos.memory.number import whole
from memos.memory.time import load_zone
from memos.storage.ports import Durability

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Each field is also the environment variable `MEMOS_<FIELD>`.

    `home`: folder of all data. `durability`: `full` (acknowledged = on disk, survives power loss) or `normal`
    (survives a crash of the process). `embedder`: `default`, `none`, or `provider:model`. `reranker`: `none`,
    `cohere:MODEL` or `jina:MODEL`. `timezone`: of times given without one. `background`: digest and embed after `add`
    without being asked. `open_cubes`: how many cubes stay open. `resident_mb`: memory that resident indexes may use before the
    least recently used one is dropped.
    """

    home: Path = Path("~/.memos")
    durability: Durability = "full"
    embedder: str = "default"
    reranker: str = "none"
    timezone: str = "UTC"
    background: bool = True
    open_cubes: int = 128
    resident_mb: int = 2048

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", Path(self.home).expanduser())
        if self.durability not in ("full", "normal"):
            raise InvalidInput(f"durability is 'full' or 'normal', got {self.durability!r}")
        if not isinstance(self.background, bool):
            raise InvalidInput(f"background is True or False, got {self.background!r}")
        for name in ("open_cubes", "resident_mb"):
            whole(getattr(self, name), name, most=1 << 31)
        for name in ("embedder", "reranker", "timezone"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"{name} is a text, got {getattr(self, name)!r:.60}")
        try:
            load_zone(self.timezone)
        except InvalidInput as error:
            raise InvalidInput(f"timezone: {error}") from None

    @classmethod
    def load(cls, env: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """Settings from arguments (those that are not None), then the environment, then defaults.

        Raises InvalidInput naming the variable for a value that cannot be used.
        """
        env = os.environ if env is None else env
        values: dict[str, Any] = {}
        for f in fields(cls):
            raw = env.get(f"MEMOS_{f.name.upper()}")
            if raw is not None and raw.strip():  # set to nothing is not set
                values[f.name] = _parse(f.name, raw, getattr(cls(), f.name))
        unknown = set(given) - {f.name for f in fields(cls)}
        if unknown:
            raise InvalidInput(
                f"unknown setting {sorted(unknown)[0]!r}; known: {', '.join(f.name for f in fields(cls))}"
            )
        from_env = set(values) - {k for k, v in given.items() if v is not None}
        values |= {k: v for k, v in given.items() if v is not None}
        try:
            return replace(cls(), **values)
        except InvalidInput as error:  # messages begin with the name of the field
            name = str(error).replace(":", " ").split()[0]
            if name not in from_env:
                raise
            raise InvalidInput(f"MEMOS_{name.upper()}: {error}") from None

    def rows(self) -> list[tuple[str, str, str]]:
        """(name, value, environment variable) of every setting, for `memos config`."""
        return [(f.name, str(getattr(self, f.name)), f"MEMOS_{f.name.upper()}") for f in fields(self)]


def _parse(name: str, raw: str, default: object) -> object:
    text = raw.strip()
    if isinstance(default, bool):
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise InvalidInput(f"MEMOS_{name.upper()} must be true or false, got {raw!r}")
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise InvalidInput(f"MEMOS_{name.upper()} must be a whole number, got {raw!r}") from None
    if isinstance(default, Path):
        return Path(text)
    return cast("object", text)
