"""Images through the client: the bytes that were sent inside a message come back."""

from __future__ import annotations

import base64
import hashlib

import pytest
from serving import Starter

from memos.client import Client
from memos.errors import InvalidInput, NotFound


def test_an_image_comes_back_through_the_client(serve: Starter) -> None:
    gif = b"GIF89a" + bytes(20)
    url = f"data:image/gif;base64,{base64.b64encode(gif).decode()}"
    with Client(serve().url, timeout=30) as client:
        added = client.add({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}, user="ann")
        (media,) = client.get(added.ids[0], user="ann").body["media"]
        assert client.image(media["uri"], user="ann") == (gif, "image/gif")
        with pytest.raises(NotFound):
            client.image(hashlib.sha256(b"").hexdigest(), user="ann")
        with pytest.raises(InvalidInput):
            client.image("a.png", user="ann")
