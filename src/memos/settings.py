"""One settings object, validated when made. Values come from arguments, then environment variables, then defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from memos.errors import InvalidInput
from memos.memory.model import EMPTY
from memos.memory.number import whole
from memos.memory.time import load_zone
from memos.memory.url import without_password
from memos.models.llm.port import PURPOSES
from memos.models.llm.prices import Prices
from memos.models.llm.variables import Sourced, settings_from
from memos.models.rerank_variables import headers_of, reranker_from
from memos.storage.ports import Durability

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
_SPECS = ("llm", *(f"llm_{purpose}" for purpose in PURPOSES))
_URLS = ("embedder_url", "reranker_url", *(f"{name}_url" for name in _SPECS))
_KEYS = ("embedder_key", "reranker_key", *(f"{name}_key" for name in _SPECS))
MOST_IMAGE_MB = 40  # as base64, in one line of an archive
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Each field is also the environment variable `MEMOS_<FIELD>`.

    `home`: folder of all data. `durability`: `full` (acknowledged = on disk, survives power loss) or `normal`
    (survives a crash of the process). `embedder`: `default`, `none`, or `provider:model`. `reranker`: `none`,
    `cohere:MODEL`, `jina:MODEL`, `tei`, `bge:MODEL`, `ce:MODEL` or `llm`. `embedder_url`, `embedder_key`, `reranker_url`,
    `reranker_key`: the server of such a model and the key for it; left empty, what the provider's own variables say
    (`models/address`). `reranker_headers`: further headers for its server, as a JSON object. `timezone`: of times given
    without one. `background`: digest and embed after `add` without being asked. `open_cubes`: how many cubes stay open (about
    1 MB each, beside their indexes). `resident_mb`: memory that resident indexes may use before the least recently used one
    is dropped. `queue`: where background tasks wait: `sqlite` (in the data folder) or the URL of a Redis
    server. `workers`: background jobs at a time in this process; 0 leaves the work to other processes (`memos worker`).
    `tasks_per_user`, `tasks_total`: how many tasks may wait before a write is refused as busy. `llm`: the language model, as
    `provider:model` (`models/llm/providers`), or `none`: everything by rules; `llm_url` and `llm_key` its server and key.
    `llm_reading`, `llm_feedback`, `llm_chat`, `llm_evolution`, `llm_vision` (each with `_url` and `_key`): another model for
    one purpose. `llm_timeout`: seconds for one call. `llm_concurrency`: calls at a time in this process. `llm_prices`: what a
    million tokens cost, as `model=in/out` with commas between, for the ledger. `llm_tokens_per_user_per_day`: when a user has
    used so many, models are asked nothing more for her until the next day of UTC; 0 for no limit. `reading`: `fine` has the
    reading model read what is added, `fast` leaves it to rules unless a call asks; `auto` is `fine` where a model is configured.
    `evolve`: learn from the episodes of agents in the background. `episode_gap`: minutes after which another message of a session
    is another task, and an open episode is closed. `reward_window`: seconds that a closed episode waits for feedback before it is
    learned from. `reorganize`: keep topics with summaries up to date in the background; without it, when asked to.
    `keep_images`: store the bytes of images that come inside messages, up to `image_mb` MB each; without, or beyond, only a
    reference.
    """

    home: Path = Path("~/.memos")
    durability: Durability = "full"
    embedder: str = "default"
    embedder_url: str = field(default="", metadata={"url": True})
    embedder_key: str = field(default="", repr=False, metadata={"secret": True})
    reranker: str = "none"
    reranker_url: str = field(default="", metadata={"url": True})
    reranker_key: str = field(default="", repr=False, metadata={"secret": True})
    reranker_headers: str = field(default="", repr=False, metadata={"secret": True})
    timezone: str = "UTC"
    background: bool = True
    open_cubes: int = 1024
    resident_mb: int = 2048
    queue: str = field(default="sqlite", metadata={"url": True})
    workers: int = 2
    tasks_per_user: int = 20_000
    tasks_total: int = 500_000
    llm: str = "none"
    llm_url: str = field(default="", metadata={"url": True})
    llm_key: str = field(default="", repr=False, metadata={"secret": True})
    llm_reading: str = ""
    llm_reading_url: str = field(default="", metadata={"url": True})
    llm_reading_key: str = field(default="", repr=False, metadata={"secret": True})
    llm_feedback: str = ""
    llm_feedback_url: str = field(default="", metadata={"url": True})
    llm_feedback_key: str = field(default="", repr=False, metadata={"secret": True})
    llm_chat: str = ""
    llm_chat_url: str = field(default="", metadata={"url": True})
    llm_chat_key: str = field(default="", repr=False, metadata={"secret": True})
    llm_evolution: str = ""
    llm_evolution_url: str = field(default="", metadata={"url": True})
    llm_evolution_key: str = field(default="", repr=False, metadata={"secret": True})
    llm_vision: str = ""
    llm_vision_url: str = field(default="", metadata={"url": True})
    llm_vision_key: str = field(default="", repr=False, metadata={"secret": True})
    llm_timeout: float = 60.0
    llm_concurrency: int = 4
    llm_prices: str = ""
    llm_tokens_per_user_per_day: int = 0
    reading: Literal["auto", "fast", "fine"] = "auto"
    evolve: bool = True
    episode_gap: int = 120
    reward_window: int = 30
    reorganize: bool = False
    keep_images: bool = True
    image_mb: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", Path(self.home).expanduser())
        if self.durability not in ("full", "normal"):
            raise InvalidInput(f"durability is 'full' or 'normal', got {self.durability!r}")
        for name in ("background", "evolve", "reorganize", "keep_images"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} is True or False, got {getattr(self, name)!r}")
        for name in ("open_cubes", "resident_mb", "tasks_per_user", "tasks_total"):
            whole(getattr(self, name), name, most=1 << 31)
        whole(self.episode_gap, "episode_gap", most=60 * 24 * 365)
        whole(self.reward_window, "reward_window", least=0, most=86_400 * 30)
        whole(self.image_mb, "image_mb", most=MOST_IMAGE_MB)
        whole(self.workers, "workers", least=0, most=64)
        whole(self.llm_concurrency, "llm_concurrency", most=1024)
        whole(self.llm_tokens_per_user_per_day, "llm_tokens_per_user_per_day", least=0, most=1 << 53)
        if isinstance(self.llm_timeout, bool) or not 0 < self.llm_timeout <= 3600:
            raise InvalidInput(f"llm_timeout is a number of seconds up to 3600, got {self.llm_timeout!r}")
        if self.reading not in ("auto", "fast", "fine"):
            raise InvalidInput(f"reading is 'auto', 'fast' or 'fine', got {self.reading!r}")
        for name in ("embedder", "reranker", "reranker_headers", "timezone", "queue", "llm_prices", *_SPECS, *_URLS):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"{name} is a text, got {getattr(self, name)!r:.60}")
        for name in _KEYS:
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"{name} is a text")
            if not (getattr(self, name).isascii() and getattr(self, name).isprintable()):
                raise InvalidInput(
                    f"{name} holds signs that cannot stand in a header; is it the whole key, and only that?"
                )
        for name in _URLS:
            if getattr(self, name) and not getattr(self, name).startswith(("http://", "https://")):
                shown = without_password(getattr(self, name))
                raise InvalidInput(f"{name} must start with http:// or https://, got {shown!r:.120}")
        Prices.parse(self.llm_prices)
        headers_of(self.reranker_headers)
        if self.queue != "sqlite" and not self.queue.startswith(("redis://", "rediss://", "unix://")):
            shown = without_password(self.queue)
            raise InvalidInput(f"queue is 'sqlite' or a Redis URL such as redis://localhost:6379/0, got {shown!r}")
        try:
            load_zone(self.timezone)
        except InvalidInput as error:
            raise InvalidInput(f"timezone: {error}") from None

    @classmethod
    def load(cls, env: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """Settings from arguments (those that are not None), then the environment, then defaults. Language models and the
        reranker are also taken from the variables of other installations (`models/llm/variables`, `models/rerank_variables`),
        below our own.

        Raises InvalidInput naming the variable for a value that cannot be used.
        """
        return load(cls, "MEMOS_", env, given, cls.of_others(env, **given))

    @classmethod
    def of_others(cls, env: Mapping[str, str] | None = None, **given: Any) -> Mapping[str, Sourced]:
        """What the variables of other installations say, with their names; arguments as for `load`."""
        env = os.environ if env is None else env
        llm = given.get("llm") or env.get("MEMOS_LLM", "").strip() or None
        reranker = given.get("reranker") or env.get("MEMOS_RERANKER", "").strip() or None
        return {**settings_from(env, llm), **reranker_from(env, reranker)}

    def rows(self) -> list[tuple[str, str, str]]:
        """(name, value, environment variable) of every setting, for `memos config`."""
        return rows(self, "MEMOS_")


def load(
    cls: type[T],
    prefix: str,
    env: Mapping[str, str] | None,
    given: Mapping[str, Any],
    usual: Mapping[str, Sourced] = EMPTY,
) -> T:
    """An object of settings: what is given and not None, then environment variables of this prefix, then what the `usual`
    variables of others say, then defaults.

    Raises InvalidInput, which names the variable when the value came from one. Messages of the class begin with the
    name of the field.
    """
    env = os.environ if env is None else env
    known = [f.name for f in fields(cls)]
    base = cls()
    values: dict[str, Any] = {}
    for name in known:
        raw = env.get(f"{prefix}{name.upper()}")
        if raw is not None and raw.strip():  # set to nothing is not set
            values[name] = _parse(f"{prefix}{name.upper()}", raw, getattr(base, name))
    variables = {name: f"{prefix}{name.upper()}" for name in values}
    for name, sourced in usual.items():
        if name not in values:
            values[name], variables[name] = sourced.value, sourced.variable
    unknown = set(given) - set(known)
    if unknown:
        raise InvalidInput(f"unknown setting {sorted(unknown)[0]!r}; known: {', '.join(known)}")
    chosen = {k: v for k, v in given.items() if v is not None}
    from_env = {name: variable for name, variable in variables.items() if name not in chosen}
    try:
        return replace(base, **(values | chosen))
    except InvalidInput as error:
        name = str(error).replace(":", " ").split()[0]
        if name not in from_env:
            raise
        raise InvalidInput(f"{from_env[name]}: {error}") from None


def rows(settings: DataclassInstance, prefix: str) -> list[tuple[str, str, str]]:
    """(name, value as it may be printed, environment variable) of every field."""
    return [
        (f.name, _shown(getattr(settings, f.name), f.metadata), f"{prefix}{f.name.upper()}") for f in fields(settings)
    ]


def _shown(value: object, about: Mapping[str, object]) -> str:
    """A value as it may be printed: of a secret only whether there is one, of a URL not the password."""
    if about.get("secret"):
        return "set" if value else "not set"
    if about.get("url") and value:
        return without_password(str(value))
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _parse(variable: str, raw: str, default: object) -> object:
    text = raw.strip()
    if isinstance(default, bool):
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise InvalidInput(f"{variable} must be true or false, got {raw!r}")
    if isinstance(default, (int, float)):
        what = "a whole number" if isinstance(default, int) else "a number"
        try:
            return type(default)(text)
        except ValueError:
            raise InvalidInput(f"{variable} must be {what}, got {raw!r}") from None
    if isinstance(default, Path):
        return Path(text)
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text
