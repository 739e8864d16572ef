"""The suites a home of cubes and of the registry must pass unchanged. Subclass them and give the fixtures.

`CubeStoreConformance` needs `store`, an empty cube, and `fresh`, an async function that makes another one;
`RegistryConformance` needs `registry`, an empty one, and `again`, a function that opens the same one once more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from conformance_images import Images
from conformance_purge import Purges
from conformance_reads import Reads
from conformance_search import Searches
from conformance_writes import Writes

from memos.errors import InvalidInput, NotFound

__all__ = ["CubeStoreConformance", "RegistryConformance"]


class CubeStoreConformance(Writes, Reads, Searches, Purges, Images):
    """Everything `CubeStore` promises."""


class RegistryConformance:
    """Everything a registry of users, cubes and grants promises."""

    def test_a_cube_is_created_once(self, registry: Any) -> None:
        first, new = registry.create("work", "ann", {"k": 1})
        again, second = registry.create("work", "bob")
        assert (new, second, again) == (True, False, first)
        assert (first.name, first.owner, dict(first.info), first.created_at.tzinfo is not None) == (
            "work",
            "ann",
            {"k": 1},
            True,
        )
        assert registry.find("work") == first
        assert registry.find("other") is None
        assert registry.path(first).exists()

    def test_a_location_says_nothing_of_the_name(self, registry: Any) -> None:
        for name in ("../../etc/passwd", "a/b", "CON", "ü" * 256, "x.cube", "'; DROP TABLE cubes; --"):
            info, _ = registry.create(name, name)
            assert registry.path(info).parent == registry.folder / "cubes"
            assert name not in info.location
            assert registry.find(name).owner == name

    @pytest.mark.parametrize("name", ["", " ", "a\nb", "\x00", "\ud800", "x" * 257, None, 5])
    def test_names_that_cannot_be_used_are_refused(self, registry: Any, name: Any) -> None:
        for call in (lambda: registry.create(name, "ann"), lambda: registry.create("c", name)):
            with pytest.raises(InvalidInput):
                call()
        assert registry.list() == []

    def test_grants_decide_who_may_what(self, registry: Any) -> None:
        cube, _ = registry.create("work", "ann")
        registry.create("own", "bob")
        level = lambda user: registry.level(registry.find("work"), user)  # noqa: E731
        assert (level("ann"), level("bob")) == ("admin", None)
        for given in ("read", "write", "admin"):
            registry.grant("work", "bob", given, "ann")
            assert level("bob") == given
        assert [c.name for c in registry.list("bob")] == ["own", "work"]
        registry.grant("work", "bob", None, "ann")
        assert level("bob") is None
        assert [c.name for c in registry.list("bob")] == ["own"]
        assert [c.name for c in registry.list()] == ["own", "work"]
        assert cube.grants == {}

    def test_bad_grants_change_nothing_and_leave_the_registry_usable(self, registry: Any) -> None:
        registry.create("work", "ann")
        with pytest.raises(InvalidInput):
            registry.grant("work", "bob", "owner", "ann")
        with pytest.raises(NotFound):
            registry.grant("nowhere", "bob", "read", "ann")
        registry.grant("work", "bob", "read", "ann")
        assert registry.find("work").grants == {"bob": "read"}

    def test_a_deleted_cube_is_gone_with_its_grants(self, registry: Any) -> None:
        first, _ = registry.create("work", "ann")
        registry.grant("work", "bob", "read", "ann")
        assert registry.delete("work") == registry.path(first)
        assert (registry.find("work"), registry.list("bob")) == (None, [])
        with pytest.raises(NotFound):
            registry.delete("work")
        again, new = registry.create("work", "carl")
        assert (new, again.location != first.location, again.grants) == (True, True, {})

    def test_what_is_registered_is_there_after_opening_again(self, registry: Any, again: Callable[[], Any]) -> None:
        info, _ = registry.create("work", "ann", {"k": "v"})
        registry.grant("work", "bob", "write", "ann")
        assert again().find("work") == registry.find("work")
        assert again().path(info) == registry.path(info)

    def test_of_many_threads_one_creates_the_cube(self, registry: Any, again: Callable[[], Any]) -> None:
        handles = [registry, again()]
        made: list[tuple[str, bool]] = []

        def create(i: int) -> None:
            info, new = handles[i % 2].create("work", f"u{i}")
            made.append((info.location, new))

        threads = [threading.Thread(target=create, args=(i,)) for i in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len({location for location, _ in made}) == 1
        assert sum(new for _, new in made) == 1
