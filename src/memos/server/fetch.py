"""Fetching a URL that a caller named, without being sent where only the server can go (SSRF).

Off unless the server was told to fetch. The host is resolved here, every address it has must be a public one, and the connection
goes to the address that was checked: what the name means cannot change in between. Each redirect is checked like the first URL.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from memos.errors import FileTooLarge, InvalidInput, UnknownFileType

if TYPE_CHECKING:
    import httpx2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

MAX_REDIRECTS = 5
SECONDS = 30.0  # for everything together
MAX_URL = 2048
_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TYPES = (  # what a document can be; the rest is refused before it is read
    *("text/", "application/json", "application/x-ndjson", "application/xhtml+xml", "application/pdf"),
    *("application/vnd.openxmlformats-officedocument.wordprocessingml", "application/octet-stream"),
)
_NOT_PUBLIC = tuple(  # that the library takes for global: site-local, protocol assignments, former relays
    map(ipaddress.ip_network, ("fec0::/10", "192.0.0.0/24", "192.88.99.0/24"))
)
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
_OFF = (
    "this server does not fetch URLs; send the file itself, in base64 or as a form "
    "(whoever runs the server can allow it with MEMOS_SERVER_FETCH_URLS=1)"
)


class FetchRefused(InvalidInput):
    """A URL is not fetched, or what it answered is not taken; the message says why."""

    code = "fetch_refused"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a URL answered, and the URL it came from after redirects."""

    data: bytes
    media_type: str | None
    url: str


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in found]


def is_public(address: Address) -> bool:
    """Whether an address is one that everybody can reach: not private, loopback, link-local (cloud metadata), multicast,
    reserved, nor an IPv6 form of one that is.
    """
    inner = _inside(address)
    if inner is not None:
        return is_public(inner)
    return address.is_global and not (
        address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or address.is_loopback
        or address.is_link_local
        or any(address in net for net in _NOT_PUBLIC if net.version == address.version)
    )


def _inside(address: Address) -> Address | None:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None or address.sixtofour is not None:
        return address.ipv4_mapped or address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in net for net in _NAT64) or int(address) >> 32 == 0:  # the last: the former "compatible" form
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if int(address) > 1 else None
    return None


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches documents. `most_bytes`: the largest body. `resolve` and `allows` can be replaced in tests."""

    enabled: bool = False
    most_bytes: int = 100 << 20
    seconds: float = SECONDS
    resolve: Resolve = field(default=resolve)
    allows: Callable[[Address], bool] = field(default=is_public)

    def check(self, url: str) -> SplitResult:
        """The parts of a URL. Raises FetchRefused when fetching is off, or for a URL that is not even tried."""
        if not self.enabled:
            raise FetchRefused(_OFF)
        if len(url) > MAX_URL or any(ord(c) <= 32 or ord(c) == 127 for c in url):
            raise FetchRefused(f"a URL has at most {MAX_URL} characters, without spaces and control characters")
        try:
            parts = urlsplit(url)
            port, host = parts.port, parts.hostname
        except ValueError as e:
            raise FetchRefused(f"{url!r:.100} is no URL: {e}") from None
        if parts.scheme not in _PORTS:
            raise FetchRefused(f"only http and https URLs are fetched, not {parts.scheme!r:.20}")
        if not host or port == 0:
            raise FetchRefused(f"{url!r:.100} names no host")
        if parts.username is not None or parts.password is not None:
            raise FetchRefused("a URL with a user name or password is not fetched")
        return parts

    async def get(self, url: str) -> Fetched:
        """Fetch a document. Raises FetchRefused, FileTooLarge, UnknownFileType."""
        import httpx2

        self.check(url)
        try:
            async with asyncio.timeout(self.seconds):
                return await self._follow(url)
        except TimeoutError:
            raise FetchRefused(f"the URL did not answer within {self.seconds:g} s") from None
        except httpx2.HTTPError as e:
            raise FetchRefused(f"the URL could not be fetched ({type(e).__name__})") from None

    async def _follow(self, url: str) -> Fetched:
        import httpx2

        # no proxy, cookies or credentials of the environment
        async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=self.seconds) as client:
            for _ in range(MAX_REDIRECTS + 1):
                parts = self.check(url)
                request = await self._request(client, parts)
                response = await client.send(request, stream=True)
                try:
                    if response.status_code not in _REDIRECTS:
                        return await self._read(response, url)
                    url = urljoin(url, response.headers.get("location", ""))
                finally:
                    await response.aclose()
                client.cookies.clear()
        raise FetchRefused(f"the URL redirects more than {MAX_REDIRECTS} times")

    async def _request(self, client: httpx2.AsyncClient, parts: SplitResult) -> httpx2.Request:
        """A request to the checked address, which says by Host and SNI whom it means."""
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        address = await self._address(host, port)
        at = f"[{address}]" if address.version == 6 else str(address)
        path = parts.path or "/"
        named = f"[{host}]" if ":" in host else host.encode("idna").decode() if not host.isascii() else host
        return client.build_request(
            "GET",
            f"{parts.scheme}://{at}:{port}{path}" + (f"?{parts.query}" if parts.query else ""),
            headers={
                "Host": named if port == _PORTS[parts.scheme] else f"{named}:{port}",
                "Accept": "text/*, application/json, application/pdf, */*;q=0.1",
                "Accept-Encoding": "identity",
                "User-Agent": "memos",
            },
            extensions={"sni_hostname": named.strip("[]")},
        )

    async def _address(self, host: str, port: int) -> Address:
        """An address of the host, all of whose addresses are allowed."""
        try:
            found = [ipaddress.ip_address(text.split("%")[0]) for text in await self.resolve(host, port)]
        except (OSError, UnicodeError, ValueError):
            found = []
        if not found:
            raise FetchRefused(f"the host {host!r:.80} is not known")
        if not all(self.allows(address) for address in found):
            raise FetchRefused(f"the host {host!r:.80} is not a public one; private addresses are never fetched")
        return found[0]

    async def _read(self, response: httpx2.Response, url: str) -> Fetched:
        if response.status_code != 200:
            raise FetchRefused(f"the URL answered {response.status_code}")
        media_type = response.headers.get("content-type")
        declared = (media_type or "application/octet-stream").split(";")[0].strip().lower()
        if not declared.startswith(_TYPES):
            raise UnknownFileType(f"the URL answered {declared!r:.60}, which is no document")
        if response.headers.get("content-encoding", "identity").lower() not in ("identity", ""):
            raise FetchRefused("the URL answered in a packed form that was not asked for")
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > self.most_bytes:
            raise self._too_large()
        chunks, size = [], 0
        async with contextlib.aclosing(response.aiter_raw()) as stream:
            async for chunk in stream:
                size += len(chunk)
                if size > self.most_bytes:
                    raise self._too_large()
                chunks.append(chunk)
        return Fetched(b"".join(chunks), media_type, url)

    def _too_large(self) -> FileTooLarge:
        return FileTooLarge(f"the URL answers with more than {self.most_bytes:,} bytes, which is not taken")
