"""Knowledge bases and their files (§1.12): what is stored is found whole, replaced whole, and gone when deleted."""

from __future__ import annotations

import asyncio
import base64
import io
import zipfile
from typing import Any

import pytest
from cloud_wire import BASE, Cloud
from fastapi import FastAPI

from memos import AsyncMemOS
from memos.reading import files as reading
from memos.server.fetch import Fetcher
from memos.server.options import ServerOptions

LONG = (
    "# Handbook\n\nHEAD-11 opens the book.\n\n"
    + "The warehouse keeps crates of all sizes and the crane lifts them.\n" * 40
    + "\n## Middle\n\nMID-22 stands in the middle.\n\n"
    + "Lorries come in the morning and leave before noon on most days.\n" * 40
    + "\n## End\n\nTAIL-33 closes the book.\n"
)


def b64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


async def new_base(cloud: Cloud, name: str = "Policies") -> str:
    return (await cloud.ok("create/knowledgebase", knowledgebase_name=name))["id"]


async def add(cloud: Cloud, base: str, text: str | bytes, name: str = "a.md", **item: Any) -> dict[str, Any]:
    data = await cloud.ok(
        "add/knowledgebase-file", knowledgebase_id=base, file=[{"name": name, "content": b64(text), **item}]
    )
    return data[0]


async def search(cloud: Cloud, query: str, base: str, **body: Any) -> list[dict[str, Any]]:
    data = await cloud.ok("search/memory", query=query, user_id="reader", knowledgebase_ids=[base], **body)
    return data["memory_detail_list"]


async def test_the_records_of_files_have_the_fields_of_the_cloud(cloud: Cloud) -> None:
    base = await new_base(cloud)
    row = await add(cloud, base, "The desk is open from nine to five.", "hours.txt")
    assert {"id", "type", "name", "sizeMB", "status"} <= set(row)
    assert (row["name"], row["type"], row["status"]) == ("hours.txt", "document", "completed")
    data = await cloud.ok("get/knowledgebase-file", knowledgebase_id=base)
    assert (data["total"], data["page"], data["page_size"]) == (1, 1, 20)
    assert data["file_detail_list"] == [row]
    assert (await cloud.ok("get/knowledgebase-file", file_ids=[row["id"]]))["file_detail_list"] == [row]


async def test_every_part_of_a_long_document_is_found_and_names_its_file(cloud: Cloud) -> None:
    base = await new_base(cloud)
    row = await add(cloud, base, LONG, "handbook.md")
    assert row["pieces"] > 3
    for token, heading in (("HEAD-11", "Handbook"), ("MID-22", "Middle"), ("TAIL-33", "End")):
        best = (await search(cloud, token, base))[0]
        assert token in best["memory_value"]
        assert best["memory_value"].startswith("[handbook.md")
        assert (best["memory_type"], best["file_id"], best["knowledgebase_id"]) == ("RawFileMemory", row["id"], base)
        assert heading in best["memory_key"] + best["memory_value"]


async def test_the_pieces_together_are_the_document(cloud: Cloud, memos: AsyncMemOS) -> None:
    base = await new_base(cloud)
    await add(cloud, base, LONG)
    pieces = (await memos.list(kinds=["chunk"], cube=base, newest_first=False, limit=1000)).items
    text = list(" " * len(LONG))
    for piece in pieces:
        text[piece.body["start"] : piece.body["end"]] = piece.text
    assert "".join(text).split() == LONG.split()


async def test_the_same_file_again_is_one_file(cloud: Cloud) -> None:
    base = await new_base(cloud)
    first = await add(cloud, base, LONG)
    assert await add(cloud, base, LONG) == first
    other = await add(cloud, base, LONG + "More.")
    assert other["id"] != first["id"]


async def test_a_new_edition_takes_the_place_of_the_whole_former_one(cloud: Cloud, memos: AsyncMemOS) -> None:
    base = await new_base(cloud)
    first = await add(cloud, base, LONG, id="book")
    second = await add(cloud, base, "# Handbook\n\nNEW-44 is all there is.", id="book")
    assert second["id"] == first["id"]
    assert (await cloud.ok("get/knowledgebase-file", knowledgebase_id=base))["total"] == 1
    for token in ("HEAD-11", "MID-22", "TAIL-33"):
        assert not any(token in item["memory_value"] for item in await search(cloud, token, base))
    assert "NEW-44" in (await search(cloud, "NEW-44", base))[0]["memory_value"]
    await memos.undo(first["id"], cube=base)
    assert "MID-22" in (await search(cloud, "MID-22", base))[0]["memory_value"]
    assert not any("NEW-44" in item["memory_value"] for item in await search(cloud, "NEW-44", base))


async def test_a_document_teaches_nothing_about_anybody(cloud: Cloud, memos: AsyncMemOS) -> None:
    base = await new_base(cloud)
    await add(cloud, base, "I live in Oslo and I like jazz.", "novel.txt")
    await memos.flush(cube=base)
    assert (await memos.list(kinds=["profile", "preference", "fact"], cube=base)).items == ()


async def test_a_deleted_file_leaves_nothing_not_even_former_editions(cloud: Cloud, memos: AsyncMemOS) -> None:
    base = await new_base(cloud)
    row = await add(cloud, base, LONG, id="book")
    await add(cloud, base, "Second edition.", id="book")
    assert (await cloud.ok("delete/knowledgebase-file", file_ids=[row["id"]]))["success"] is True
    assert await memos.count(cube=base, include_inactive=True) == 0
    assert await cloud.error("delete/knowledgebase-file", file_ids=[row["id"]]) == (200, 40307)
    assert (await cloud.ok("get/knowledgebase-file", file_ids=[row["id"]]))["file_detail_list"] == []


async def test_a_deleted_base_is_gone(cloud: Cloud) -> None:
    base = await new_base(cloud)
    await add(cloud, base, "Something.")
    assert (await cloud.ok("delete/knowledgebase", knowledgebase_id=base))["success"] is True
    for path, body in (
        ("delete/knowledgebase", {"knowledgebase_id": base}),
        ("get/knowledgebase-file", {"knowledgebase_id": base}),
        ("add/knowledgebase-file", {"knowledgebase_id": base, "file": [{"content": b64("x")}]}),
        ("search/memory", {"query": "x", "user_id": "u", "knowledgebase_ids": [base]}),
        ("add/message", {"messages": "hello there", "user_id": "u", "allow_knowledgebase_ids": [base]}),
    ):
        assert await cloud.error(path, **body) == (200, 50120), path


async def test_a_users_memory_is_no_knowledge_base(cloud: Cloud) -> None:
    await cloud.add("Private.", user_id="default")
    await cloud.add("Private.", user_id="alice")
    for name in ("default", "alice"):
        assert await cloud.error("search/memory", query="x", user_id="alice", knowledgebase_ids=[name]) == (200, 50120)
        assert await cloud.error("delete/knowledgebase", knowledgebase_id=name) == (200, 50120)


async def test_a_categorised_filter_reaches_only_its_own_part(cloud: Cloud) -> None:
    base = await new_base(cloud)
    await add(cloud, base, "The crate is in the book.", "crate.txt")
    await cloud.add("The crate is mine.", user_id="reader", tags=["mine"])
    await cloud.add("The crate is yours.", user_id="reader", tags=["yours"])
    for where, count in (
        (None, 3),
        ({"user": {"and": [{"tags": "mine"}]}}, 2),
        ({"knowledgebase": {"and": [{"tags": "mine"}]}}, 2),
        ({"and": [{"tags": "mine"}]}, 1),
        ({"public": {"and": [{"tags": "mine"}]}}, 3),
    ):
        found = [i for i in await search(cloud, "crate", base, filter=where) if "crate is" in i["memory_value"]]
        assert len(found) == count, where


async def test_files_are_listed_by_page(cloud: Cloud) -> None:
    base = await new_base(cloud)
    for number in range(5):
        await add(cloud, base, f"Text {number}", f"{number}.txt")
    pages = [await cloud.ok("get/knowledgebase-file", knowledgebase_id=base, page=n, page_size=2) for n in (1, 2, 3, 4)]
    names = [[row["name"] for row in page["file_detail_list"]] for page in pages]
    assert names == [["4.txt", "3.txt"], ["2.txt", "1.txt"], ["0.txt"], []]
    assert {page["total"] for page in pages} == {5}
    assert (await cloud.ok("get/knowledgebase-file", knowledgebase_id=base, type="skill"))["total"] == 0
    assert await cloud.error("get/knowledgebase-file") == (200, 40000)
    assert await cloud.error("get/knowledgebase-file", file_ids=["x"], knowledgebase_id=base) == (200, 40000)


async def test_a_form_may_carry_several_files(cloud: Cloud) -> None:
    base = await new_base(cloud)
    files = [
        ("file", ("a.txt", b"Alpha is first.", "text/plain")),
        ("file", ("b.exe", b"\x00\x01\x02", "application/x")),
    ]
    answer = await cloud.client.post(f"{BASE}/add/knowledgebase-file", params={"knowledgebase_id": base}, files=files)
    rows = answer.json()["data"]
    assert [(row["name"], row["status"]) for row in rows] == [("a.txt", "completed"), ("b.exe", "failed")]
    assert "cannot be read" in rows[1]["reason"]
    in_form = await cloud.client.post(
        f"{BASE}/add/knowledgebase-file", data={"knowledgebase_id": base}, files=files[:1]
    )
    assert in_form.json()["data"][0]["id"] == rows[0]["id"]


async def test_a_form_that_is_none_is_a_bad_parameter(cloud: Cloud) -> None:
    base = await new_base(cloud)
    for kind, content in (
        ("multipart/form-data; boundary=x", b"no boundary here"),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\ny\r\n--x--\r\n"),
    ):
        headers = {"Content-Type": kind}
        answer = await cloud.client.post(
            f"{BASE}/add/knowledgebase-file", params={"knowledgebase_id": base}, content=content, headers=headers
        )
        assert answer.status_code in (200, 400)
        assert 40000 <= answer.json()["code"] <= 40006


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({"content": b64("x"), "name": "a.exe"}, 40007),
        ({"content": b64("old"), "name": "a.doc"}, 40007),
        ({"content": b64("x"), "type": "skill"}, 40007),
        ({"content": "%%% no base64 %%%"}, 40008),
        ({"content": b64(b"%PDF-1.7 broken"), "name": "a.pdf"}, 50107),
        ({"content": b64(" \n "), "name": "a.txt"}, 50107),
        ({"name": "a.txt"}, 40002),
        ({"content": "/etc/hostname"}, 40008),
        ({"content": "../../secret.txt"}, 40008),
        ({"content": "file:///etc/hostname"}, 40000),
        ({"url": "file:///etc/hostname"}, 40000),
        ({"path": "/etc/hostname"}, 40002),
        ({"content": "http://127.0.0.1:1/x"}, 40000),
        ({"content": 5}, 40006),
    ],
)
async def test_what_is_no_file_is_refused_with_the_clouds_number(cloud: Cloud, item: dict[str, Any], code: int) -> None:
    base = await new_base(cloud)
    assert await cloud.error("add/knowledgebase-file", knowledgebase_id=base, file=[item]) == (200, code)
    assert (await cloud.ok("get/knowledgebase-file", knowledgebase_id=base))["total"] == 0


async def test_paths_of_the_server_are_never_read(cloud: Cloud, tmp_path: Any) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET-99 of the server", encoding="utf-8")
    base = await new_base(cloud)
    for text in (str(secret), f"file://{secret}", f"file:{secret}"):
        for field in ("content", "url", "file_url", "base64", "data", "doc_path", "path"):
            answer = await cloud.answer("add/knowledgebase-file", knowledgebase_id=base, file=[{field: text}])
            assert answer.json()["code"] != 0
    assert await search(cloud, "SECRET-99", base) == []


async def test_there_is_a_limit_to_files_at_once(cloud: Cloud) -> None:
    base = await new_base(cloud)
    files = [{"name": f"{n}.txt", "content": b64(f"text {n}")} for n in range(21)]
    assert await cloud.error("add/knowledgebase-file", knowledgebase_id=base, file=files) == (200, 50103)
    assert len(await cloud.ok("add/knowledgebase-file", knowledgebase_id=base, file=files[:20])) == 20
    form = [("file", (f"{n}.txt", b"text", "text/plain")) for n in range(60)]
    answer = await cloud.client.post(f"{BASE}/add/knowledgebase-file", params={"knowledgebase_id": base}, files=form)
    assert answer.json()["code"] == 50103


async def test_a_zip_that_unpacks_to_too_much_is_not_unpacked(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_UNPACKED", 1 << 20)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        out.writestr("word/document.xml", b"0" * (2 << 20))
    base = await new_base(cloud)
    body = {"knowledgebase_id": base, "file": [{"name": "bomb.docx", "content": b64(packed.getvalue())}]}
    assert await cloud.error("add/knowledgebase-file", **body) == (200, 50104)


class TestSizes:
    @pytest.fixture
    def options(self) -> ServerOptions:
        return ServerOptions(body_mb=1, files_mb=3)

    async def test_forms_may_be_larger_than_json(self, cloud: Cloud) -> None:
        base = await new_base(cloud)
        text = b"A line of many in a file that is large.\n" * 40_000
        assert await cloud.error("add/knowledgebase-file", knowledgebase_id=base, file=[{"content": b64(text)}]) == (
            413,
            40305,
        )
        files = [("file", ("large.txt", text, "text/plain"))]
        answer = await cloud.client.post(
            f"{BASE}/add/knowledgebase-file", params={"knowledgebase_id": base}, files=files
        )
        assert answer.json()["data"][0]["status"] == "completed"
        twice = await cloud.client.post(
            f"{BASE}/add/knowledgebase-file", params={"knowledgebase_id": base}, files=files * 2
        )
        assert (twice.status_code, twice.json()["code"]) == (413, 40305)


class TestUrls:
    @pytest.fixture
    def options(self) -> ServerOptions:
        return ServerOptions(fetch_urls=True)

    async def test_a_url_is_fetched_when_the_server_may(self, cloud: Cloud, app: FastAPI) -> None:
        async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            body = b"<title>Rates</title><p>The RATE-55 applies.</p>"
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n"
            writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            writer.close()

        async def lookup(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        base = await new_base(cloud)
        async with await asyncio.start_server(page, "127.0.0.1", 0) as server:
            url = f"http://site.test:{server.sockets[0].getsockname()[1]}/rates"
            app.state.fetcher = Fetcher(enabled=True, resolve=lookup, allows=lambda _: True)
            row = (await cloud.ok("add/knowledgebase-file", knowledgebase_id=base, file=[{"content": url}]))[0]
        assert (row["name"], row["status"]) == ("rates", "completed")
        assert "RATE-55" in (await search(cloud, "RATE-55", base))[0]["memory_value"]

    async def test_private_addresses_are_refused_even_then(self, cloud: Cloud) -> None:
        base = await new_base(cloud)
        for url in ("http://127.0.0.1:1/x.txt", "http://169.254.169.254/latest/meta-data/", "http://[::1]/"):
            body = {"knowledgebase_id": base, "file": [{"url": url}]}
            assert await cloud.error("add/knowledgebase-file", **body) == (200, 40000)
        two = [{"url": "http://127.0.0.1:1/x.txt"}, {"name": "a.txt", "content": b64("Good.")}]
        rows = await cloud.ok("add/knowledgebase-file", knowledgebase_id=base, file=two)
        assert [row["status"] for row in rows] == ["failed", "completed"]


async def test_ids_are_the_same_in_capitals(cloud: Cloud) -> None:
    base = await new_base(cloud)
    id = (await add(cloud, base, "The crane lifts crates."))["id"]
    for ids in ([id.upper()], [id, id.upper()]):
        found = await cloud.ok("get/knowledgebase-file", file_ids=ids)
        assert [file["id"] for file in found["file_detail_list"]] == [id]
    await cloud.ok("delete/knowledgebase-file", file_ids=[id.upper(), id])
    assert (await cloud.ok("get/knowledgebase-file", knowledgebase_id=base))["total"] == 0
    await cloud.add("I like tea.", user_id="ada")
    kept = (await cloud.ok("get/memory", user_id="ada"))["memory_detail_list"][0]["id"]
    assert (await cloud.ok("update/memory", memory_id=kept.upper(), title="Tea"))["id"] == kept
    assert (await cloud.ok("delete/memory", memory_ids=[kept.upper(), kept]))["success"]
