"""POSTs JSON to a model server, whole or as a stream, and says in typed errors what went wrong. The HTTP library is loaded at
the first call.

Headers hold keys: they never appear in messages, also when a server repeats them, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from memos.errors import InvalidInput, ModelBusy, ModelError, ModelTimeout, ModelUnavailable
from memos.memory.url import without_password
from memos.models.resilience import Failure, retry_after_seconds

if TYPE_CHECKING:
    import httpx2

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_BUSY = 429
_EXCERPT = 200
_MOST_BYTES = 256 << 20  # of an answer
_MOST_ERROR = 1 << 20  # bytes of an error's text that are read
_SHORTEST_SECRET = 6  # characters from which a secret is told from an ordinary word
_NO_QUOTA = (
    "insufficient_quota",
    "insufficient balance",
    "exceeded your current quota",
)  # told as 429; waiting does not help


class Refused(Failure):
    """The server did not take the request as it is (400, 422); `message` is what it said about it."""

    def __init__(self, error: ModelError, message: str) -> None:
        super().__init__(error)
        self.message = message


class JsonClient:
    """A JSON client for one server. Keeps one connection pool per event loop."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        hint: str = "",
        key_header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            base_url: what paths are appended to, such as `http://127.0.0.1:8080/v1`.
            api_key: sent as a bearer token, or as it is in another `key_header`.
            hint: what to do if the server cannot be reached, for the error message.
            key_header: the header that the key is sent in.
            headers: sent, too.
        """
        if not base_url.startswith(("http://", "https://")):
            raise InvalidInput(f"base URL {without_password(base_url)!r} must start with http:// or https://")
        self.base_url = base_url.rstrip("/")
        self._shown = without_password(self.base_url)
        self._headers = dict(headers or {})
        said = _credentials(self.base_url)
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise InvalidInput(
                f"the key for {self._shown} holds signs that cannot stand in a header; is it the whole key, and only that?"
            )
        if api_key and said and key_header == "Authorization":
            raise InvalidInput(
                f"the address {self._shown} has a password and there is a key, too: both are sent in the header "
                "Authorization; give one of them"
            )
        secrets = (api_key or "", *(headers or {}).values(), *said)
        self._secrets = tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)
        if api_key:
            self._headers[key_header] = f"Bearer {api_key}" if key_header == "Authorization" else api_key
        self._hint = f"; {hint}" if hint else ""
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"JsonClient({self._shown!r})"

    async def post(self, path: str, payload: Mapping[str, object], *, most: int = _MOST_BYTES) -> object:
        """Return the decoded answer to `payload` at `path`, of `most` bytes at most.

        Raises:
            Failure: with a ModelUnavailable, ModelTimeout or ModelError inside.
        """
        content = bytearray()
        async with self.streamed(path, payload) as chunks:
            async for chunk in chunks:
                content += chunk
                if len(content) > most:
                    raise Failure(ModelError(f"{self._url(path)} answered more than {most >> 20} MB"))
        try:
            return json.loads(self.without_secrets(content.decode()))
        except (ValueError, RecursionError) as error:
            raise Failure(ModelError(f"{self._url(path)} answered something that is not JSON")) from error

    @contextlib.asynccontextmanager
    async def streamed(self, path: str, payload: Mapping[str, object]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of the answer to `payload` at `path`, as they come. Leaving it closes the connection.

        Raises:
            Failure: as `post` does, also in the middle.
        """
        with self._told(path) as url:
            async with self._client().stream(
                "POST", self.base_url + path, content=json.dumps(payload).encode(), headers=self._headers
            ) as response:
                if response.status_code != 200:
                    raise self._refused(url, response, await _excerpt(response))
                yield response.aiter_bytes()

    @contextlib.asynccontextmanager
    async def passed(
        self, path: str, body: bytes | None, headers: Mapping[str, str], method: str = "POST"
    ) -> AsyncIterator[httpx2.Response]:
        """The answer to a request that is passed on as it is, whatever its status; further `headers` are sent beside our own.
        Leaving it closes the connection.

        Raises:
            Failure: it cannot be reached, or broke off, also in the middle.
        """
        with self._told(path):
            async with self._client().stream(
                method, self.base_url + path, content=body, headers={**headers, **self._headers}
            ) as response:
                yield response

    def without_secrets(self, text: str) -> str:
        """What a server said, without the keys that it repeats."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "***")
        return text

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client:
            await client.aclose()

    @contextlib.contextmanager
    def _told(self, path: str) -> Iterator[str]:
        """The URL as it may be shown; what the HTTP library raises becomes a Failure."""
        import httpx2

        url = self._url(path)
        try:
            yield url
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

    def _url(self, path: str) -> str:
        return self._shown + path.partition("?")[0]

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # No limits of time and connections here: the guard has one for the whole attempt, and whoever asks counts the calls.
            client = httpx2.AsyncClient(
                timeout=None,
                limits=httpx2.Limits(max_keepalive_connections=20),
                headers={"Content-Type": "application/json"},
            )
            self._clients[loop] = client
        return client

    def _refused(self, url: str, response: httpx2.Response, text: str) -> Failure:
        status = response.status_code
        text = self.without_secrets(text)
        message = _message(text)
        said = f"{url} answered {status}: {message[:_EXCERPT]}"
        if status in (401, 403):
            return Failure(ModelUnavailable(f"{said}; check the API key"))
        if status == 404:
            return Failure(ModelUnavailable(f"{said}; check the model name and the base URL{self._hint}"))
        if status not in _TRANSIENT and status < 500:
            return Refused(ModelError(said), message) if status in (400, 422) else Failure(ModelError(said))
        wait = retry_after_seconds(response.headers.get("retry-after"))
        if status != _BUSY:
            return Failure(ModelUnavailable(said), retry=status in _TRANSIENT, dead=True, retry_after=wait)
        if any(sign in text.lower() for sign in _NO_QUOTA):
            return Failure(ModelUnavailable(f"{said}; the account has no quota left"))
        return Failure(ModelBusy(said, 1.0 if wait is None else wait), retry=True, retry_after=wait)


def _message(text: str) -> str:
    """The server's own message, without line breaks."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    error = body.get("error", body.get("message", body.get("detail"))) if isinstance(body, dict) else None
    if isinstance(error, dict):
        error = error.get("message", error)
    return " ".join(str(error or text)[: 20 * _EXCERPT].split()) or "no message"


async def _excerpt(response: httpx2.Response) -> str:
    """The beginning of an error's text: all of one that a server means."""
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > _MOST_ERROR:
            break
    return content[:_MOST_ERROR].decode("utf-8", "replace")


def _credentials(url: str) -> tuple[str, ...]:
    """The password in a URL, as it stands there and in the forms in which it is sent; none where there is none."""
    try:
        who, at, _ = urlsplit(url).netloc.rpartition("@")
    except ValueError:  # told when it is asked
        return ()
    user, _, password = who.partition(":")
    if not at:
        return ()
    sent = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    return (who, sent, password, unquote(password))
