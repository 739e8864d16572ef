"""Fetching URLs (SSRF): only public addresses, checked at every step, within limits. Real local servers, a resolver of our own."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import AsyncIterator, Callable

import pytest

from memos.errors import FileTooLarge, InvalidInput, UnknownFileType
from memos.server.fetch import MAX_REDIRECTS, Fetcher, FetchRefused, is_public, resolve

PUBLIC = ipaddress.ip_address("93.184.216.34")


class Site:
    """A web server on loopback that answers with what `respond` makes of the path; keeps the heads of requests."""

    def __init__(self, respond: Callable[[str], bytes], chunk_pause: float = 0.0) -> None:
        self.respond, self.pause = respond, chunk_pause
        self.heads: list[str] = []
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        with contextlib.suppress(ConnectionError):
            writer.write(self.respond(head.split()[1]))
            await writer.drain()
            await asyncio.sleep(self.pause)
        writer.close()


def reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    fields = {"content_type": "text/plain", "content_length": str(len(body)), "connection": "close", **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{k.replace('_', '-')}: {v}" for k, v in fields.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def site(respond: Callable[[str], bytes], pause: float = 0.0) -> AsyncIterator[Site]:
    made = Site(respond, pause)
    server = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def fetcher(hosts: dict[str, list[str]] | None = None, **options: object) -> Fetcher:
    """A fetcher for which 127.0.0.1 stands for a public address; every other private one stays refused."""

    async def lookup(host: str, port: int) -> list[str]:
        known = {"site.test": ["127.0.0.1"], **(hosts or {})}
        if host not in known:
            raise OSError("no such host")
        return known[host]

    return Fetcher(
        enabled=True,
        resolve=lookup,
        allows=lambda a: str(a) == "127.0.0.1" or is_public(a),
        **options,
    )


async def test_fetching_is_off_unless_it_is_turned_on() -> None:
    with pytest.raises(FetchRefused, match="MEMOS_SERVER_FETCH_URLS"):
        await Fetcher().get("https://example.com/a.txt")


async def test_a_document_is_fetched_under_its_own_name() -> None:
    async with site(lambda path: reply(f"You asked for {path}.".encode())) as web:
        found = await fetcher().get(f"http://site.test:{web.port}/a/b.txt?x=1#part")
        assert (found.data, found.media_type) == (b"You asked for /a/b.txt?x=1.", "text/plain")
        head = web.heads[0].lower()
        assert f"host: site.test:{web.port}" in head
        assert "cookie" not in head
        assert "authorization" not in head


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.9.9.9",
            "fec0::1",
            "192.0.0.8",
            "192.88.99.1",
            "10.0.0.1",
            "172.16.5.4",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
        ),
        *("224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1"),
        *("fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *("2002:7f00:1::", "2002:a9fe:a9fe::1", "::7f00:1", "2001:db8::1", "64:ff9b:1::a00:1"),
    ],
)
def test_addresses_that_only_the_server_reaches_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8"]
)
def test_public_addresses_are(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://127.0.0.1/",
            "http://localhost/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::1]/",
            "http://0/",
        ),
        *("http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest/meta-data/", "http://127.1/"),
    ],
)
async def test_spellings_of_this_machine_are_refused_by_what_they_resolve_to(url: str) -> None:
    with pytest.raises(FetchRefused, match=r"not a public|not known"):
        await Fetcher(enabled=True).get(url)


async def test_the_systems_resolver_is_asked() -> None:
    assert "127.0.0.1" in await resolve("127.0.0.1", 80)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/hostname",
            "ftp://site.test/",
            "gopher://site.test/",
            "data:text/plain,x",
            "//site.test/x",
            "site.test",
        ),
        *("http://", "http:///x", "http://user:pw@site.test/", "http://site.test:0/", "http://site.test:99999/"),
        *("http://si te.test/", "http://site.test/\r\nHost: x", "http://site.test/" + "x" * 3000, "http://[::1", ""),
    ],
)
async def test_urls_that_are_not_even_tried(url: str) -> None:
    with pytest.raises(FetchRefused):
        await fetcher().get(url)


async def test_one_private_address_among_public_ones_is_one_too_many() -> None:
    for private in ("10.0.0.1", "::1", "169.254.169.254"):
        with pytest.raises(FetchRefused, match="not a public"):
            await fetcher({"two.test": ["127.0.0.1", private]}).get("http://two.test/")


async def test_a_redirect_to_a_private_address_is_not_followed() -> None:
    async with site(lambda _: reply(b"INNER")) as inner:
        for target in (
            f"http://inner.test:{inner.port}/",
            "http://169.254.169.254/",
            "file:///etc/hostname",
            "http://[::1]/",
        ):
            answer = reply(status="302 Found", location=target)
            async with site(lambda _, a=answer: a) as web:
                with pytest.raises(FetchRefused):
                    await fetcher(
                        {"inner.test": ["10.1.2.3"], "169.254.169.254": ["169.254.169.254"], "::1": ["::1"]}
                    ).get(f"http://site.test:{web.port}/")
        assert inner.heads == []


async def test_redirects_are_followed_and_counted() -> None:
    def respond(path: str) -> bytes:
        left = int(path.strip("/"))
        return (
            reply(b"there")
            if not left
            else reply(status="307 Temporary Redirect", location=f"/{left - 1}", set_cookie="a=b")
        )

    async with site(respond) as web:
        found = await fetcher().get(f"http://site.test:{web.port}/{MAX_REDIRECTS}")
        assert (found.data, found.url) == (b"there", f"http://site.test:{web.port}/0")
        assert not any("cookie" in head.lower() for head in web.heads)
        with pytest.raises(FetchRefused, match="redirects more"):
            await fetcher().get(f"http://site.test:{web.port}/{MAX_REDIRECTS + 1}")


async def test_a_name_that_changes_its_address_is_not_asked_twice() -> None:
    """DNS rebinding: the address that was checked is the one connected to."""
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    asked = 0

    async def lookup(host: str, port: int) -> list[str]:
        nonlocal asked
        asked += 1
        return next(answers)

    async with site(lambda _: reply(b"first")) as web:
        one = Fetcher(enabled=True, resolve=lookup, allows=lambda a: str(a) == "127.0.0.1")
        assert (await one.get(f"http://rebind.test:{web.port}/")).data == b"first"
        assert asked == 1
        with pytest.raises(FetchRefused, match="not a public"):
            await one.get(f"http://rebind.test:{web.port}/")
        assert len(web.heads) == 1


async def test_size_is_limited_whether_it_is_declared_or_not() -> None:
    small = fetcher(most_bytes=1000)
    async with site(lambda path: reply(b"x" * int(path.strip("/")))) as web:
        assert len((await small.get(f"http://site.test:{web.port}/1000")).data) == 1000
        with pytest.raises(FileTooLarge):
            await small.get(f"http://site.test:{web.port}/1001")
    endless = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n" + b"x" * 5000
    async with site(lambda _: endless) as web:
        with pytest.raises(FileTooLarge):
            await small.get(f"http://site.test:{web.port}/")


async def test_type_status_and_packing_are_checked() -> None:
    answers = {
        "/image": (reply(b"x", content_type="image/png"), UnknownFileType),
        "/zip": (reply(b"x", content_type="application/zip"), UnknownFileType),
        "/gone": (reply(b"x", status="404 Not Found"), FetchRefused),
        "/packed": (reply(b"x", content_encoding="gzip"), FetchRefused),
        "/empty": (reply(status="302 Found"), FetchRefused),
        "/noise": (b"not http at all\r\n\r\n", FetchRefused),
        "/nothing": (b"", FetchRefused),
    }
    async with site(lambda path: answers[path][0] if path in answers else reply(b"ok")) as web:
        for path, (_, error) in answers.items():
            with pytest.raises(error):
                await fetcher().get(f"http://site.test:{web.port}{path}")
        assert (await fetcher().get(f"http://site.test:{web.port}/pdf")).data == b"ok"


async def test_time_is_limited() -> None:
    slow = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
    async with site(lambda _: slow, pause=30) as web:
        with pytest.raises(FetchRefused, match="within"):
            await fetcher(seconds=0.3).get(f"http://site.test:{web.port}/")


async def test_a_closed_port_and_an_unknown_host_are_refusals_without_details() -> None:
    with pytest.raises(FetchRefused, match="could not be fetched"):
        await fetcher().get("http://site.test:1/")
    with pytest.raises(FetchRefused, match="not known"):
        await fetcher().get("http://nowhere.test/")
    assert issubclass(FetchRefused, InvalidInput)


def test_the_public_example_is_public() -> None:
    assert is_public(PUBLIC)
