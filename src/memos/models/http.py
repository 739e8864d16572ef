"""POSTs JSON to a model server and says in typed errors what went wrong. The HTTP library is loaded at the first call.

Headers hold keys: they never appear in messages, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from memos.errors import InvalidInput, ModelError, ModelTimeout, ModelUnavailable
from memos.memory.url import without_password
from memos.models.resilience import Failure, retry_after_seconds

if TYPE_CHECKING:
    import httpx2

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_BUSY = 429
_EXCERPT = 200


class JsonClient:
    """A JSON client for one server. Keeps one connection pool per event loop."""

    def __init__(self, base_url: str, *, api_key: str | None = None, hint: str = "") -> None:
        """Prepare; nothing is sent.

        Args:
            base_url: what paths are appended to, such as `http://127.0.0.1:8080/v1`.
            api_key: sent as a bearer token.
            hint: what to do if the server cannot be reached, for the error message.
        """
        if not base_url.startswith(("http://", "https://")):
            raise InvalidInput(f"base URL {without_password(base_url)!r} must start with http:// or https://")
        self.base_url = base_url.rstrip("/")
        self._shown = without_password(self.base_url)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._hint = f"; {hint}" if hint else ""
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"JsonClient({self._shown!r})"

    async def post(self, path: str, payload: Mapping[str, object]) -> object:
        """Return the decoded answer to `payload` at `path`.

        Raises:
            Failure: with a ModelUnavailable, ModelTimeout or ModelError inside.
        """
        import httpx2

        url = self._shown + path
        try:
            response = await self._client().post(
                self.base_url + path, content=json.dumps(payload).encode(), headers=self._headers
            )
        except httpx2.TimeoutException as error:
            raise Failure(ModelTimeout(f"{url} did not answer in time"), retry=True, dead=True) from error
        except httpx2.InvalidURL as error:
            raise Failure(ModelError(f"{url} is not a valid URL: {error}")) from error
        except httpx2.HTTPError as error:
            raise Failure(
                ModelUnavailable(f"cannot reach {url}: {error or type(error).__name__}{self._hint}"),
                retry=True,
                dead=True,
            ) from error
        if response.status_code != 200:
            raise self._refused(url, response)
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            raise Failure(ModelError(f"{url} answered something that is not JSON")) from error

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client:
            await client.aclose()

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # No time limit here: the guard has one for the whole attempt.
            client = httpx2.AsyncClient(timeout=None, headers={"Content-Type": "application/json"})
            self._clients[loop] = client
        return client

    def _refused(self, url: str, response: httpx2.Response) -> Failure:
        status = response.status_code
        said = f"{url} answered {status}: {_excerpt(response)}"
        if status in (401, 403):
            return Failure(ModelUnavailable(f"{said}; check the API key"))
        if status == 404:
            return Failure(ModelUnavailable(f"{said}; check the model name and the base URL{self._hint}"))
        if status not in _TRANSIENT and status < 500:
            return Failure(ModelError(said))
        wait = retry_after_seconds(response.headers.get("retry-after"))
        return Failure(ModelUnavailable(said), retry=status in _TRANSIENT, dead=status != _BUSY, retry_after=wait)


def _excerpt(response: httpx2.Response) -> str:
    """The server's own message, without line breaks, cut."""
    text = response.text
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    error = body.get("error", body.get("message", body.get("detail"))) if isinstance(body, dict) else None
    if isinstance(error, dict):
        error = error.get("message", error)
    return " ".join(str(error or text).split())[:_EXCERPT] or "no message"
