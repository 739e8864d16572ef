"""Hosts that take a plugin instead of hooks: each has a module that installs it, and one that tries it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from memos.hosts.install import Examined, Installed, Standing
from memos.hosts.places import Reach

PLUGINS = {
    "hermes": ("memos.hosts.hermes.installing", "memos.hosts.hermes.examining"),
    "dsh": ("memos.hosts.dsh.installing", "memos.hosts.dsh.examining"),
    "openclaw": ("memos.hosts.openclaw.installing", "memos.hosts.openclaw.examining"),
}


class Installing(Protocol):
    """How a plugin gets into a host."""

    def install(self, reach: Reach, home: Path, *, dry_run: bool = False) -> Installed:
        """Put it in. Raises InvalidInput for a file that cannot be read; nothing is written then."""
        ...

    def uninstall(self, home: Path, *, dry_run: bool = False) -> Installed:
        """Take it out, as if it had never been there."""
        ...

    def standing(self) -> Standing:
        """Whether it is in."""
        ...


class Examining(Protocol):
    """How a plugin is tried."""

    def examine(self, home: Path) -> Examined:
        """Try it as the host would."""
        ...


def installing(host: str) -> Installing | None:
    """The module that installs a host's plugin; None for a host that takes none."""
    return cast("Installing", import_module(PLUGINS[host][0])) if host in PLUGINS else None


def standings() -> list[Standing]:
    """Which of them MemOS is in."""
    return [plugin.standing() for host in PLUGINS if (plugin := installing(host)) is not None]


def examining(host: str) -> Examining | None:
    """The module that tries it."""
    return cast("Examining", import_module(PLUGINS[host][1])) if host in PLUGINS else None
