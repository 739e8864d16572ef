"""`GET /v1/images/{sha256}`: the bytes as they came in, so that no browser takes them for a page of this server."""

from __future__ import annotations

import base64
import hashlib

import httpx2
import pytest

PAGE = b"<html><script>alert(1)</script></html>"
GIF = b"GIF89a" + bytes(20)


def message(data: bytes, kind: str) -> dict[str, object]:
    url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


async def test_an_image_is_given_back_harmlessly(app_client: httpx2.AsyncClient) -> None:
    messages = [message(GIF, "image/gif"), message(PAGE, "text/html"), message(b"<svg/>", "image/svg+xml")]
    added = await app_client.post("/v1/memories", json={"user": "ann", "messages": messages})
    assert added.json()["notices"] == []
    for data, kind in ((GIF, "image/gif"), (PAGE, "application/octet-stream"), (b"<svg/>", "application/octet-stream")):
        path = f"/v1/images/{hashlib.sha256(data).hexdigest()}"
        answer = await app_client.get(path, params={"user": "ann"})
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, data, kind)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert (await app_client.get(path, params={"user": "bob"})).status_code == 404
    assert (await app_client.get(f"/v1/images/{'0' * 64}", params={"user": "ann"})).status_code == 404


@pytest.mark.parametrize("digits", ["0", "g" * 64, "0" * 65, "sha256:" + "0" * 64])
async def test_what_names_no_image_is_refused(app_client: httpx2.AsyncClient, digits: str) -> None:
    assert (await app_client.get(f"/v1/images/{digits}", params={"user": "ann"})).status_code == 422
