"""A profile through the client and a real server: the same as the library's."""

from __future__ import annotations

import pytest
from serving import Starter

from memos.client import Client
from memos.errors import InvalidInput
from memos.sync import MemOS


def test_a_profile_is_that_of_the_library(serve: Starter) -> None:
    live = serve(MEMOS_READING="fast")
    with Client(live.url, timeout=30) as client:
        client.add([{"role": "user", "content": "I live in Oslo. I love rowing.", "message_id": "m1"}], user="ann")
        client.add([{"role": "assistant", "name": "Bo", "content": "I love chess."}], user="ann")
        found = client.profile(user="ann")
        assert [item.text for item in found] == ["Ann lives in Oslo.", "Ann likes rowing."]
        assert found.items[0].message_ids == ("m1",)
        assert [item.text for item in client.profile(about="Bo", user="ann")] == ["Bo likes chess."]
        assert not client.profile(max_tokens=20, user="ann") and client.profile(max_tokens=20, user="ann").left_out == 2
        with pytest.raises(InvalidInput):
            client.profile(max_tokens=0)
        with MemOS(live.home, embedder="none", background=False) as library:
            assert library.profile(user="ann") == found
