"""Files to text: what each kind gives, in which encoding, and what is refused."""

from __future__ import annotations

import io
import subprocess
import sys
import time
import zipfile

import pytest

from memos.errors import FileTooLarge, Unavailable, UnknownFileType, UnreadableFile
from memos.reading import files, web
from memos.reading.files import decode, read_file, type_of


def text_of(data: bytes, name: str, media_type: str | None = None) -> str:
    return read_file(data, name=name, media_type=media_type).text


def pdf(*lines: str) -> bytes:
    """A small PDF, written by hand, with one line of text on each page."""
    kids = " ".join(f"{3 + 2 * i} 0 R" for i in range(len(lines)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(lines)} >>"]
    for i, line in enumerate(lines):
        stream = f"BT /F1 12 Tf 72 700 Td ({line}) Tj ET"
        font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /Resources {font} /MediaBox [0 0 612 792] /Contents {4 + 2 * i} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{at:010} 00000 n \n" for at in places)
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def word() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Travel rules", level=1)
    document.add_paragraph("Trains are booked in second class.")
    table = document.add_table(rows=2, cols=2)
    for row, cells in enumerate((("City", "Limit"), ("Oslo", "1200"))):
        for column, cell in enumerate(cells):
            table.rows[row].cells[column].text = cell
    document.add_paragraph("After the table.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_text_is_kept_as_it_is() -> None:
    assert text_of("Erste Zeile.\n\nÄpfel & Birnen 中文\n".encode(), "a.txt") == "Erste Zeile.\n\nÄpfel & Birnen 中文\n"
    assert text_of(b"a\r\nb\rc", "a.txt") == "a\nb\nc"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "gb18030"])
def test_text_is_read_in_its_encoding(encoding: str) -> None:
    text = "保修期为十二个月，人为损坏需要付费。"
    data = ("\ufeff" + text).encode(encoding) if encoding == "utf-16-le" else text.encode(encoding)
    assert decode(data) == text


def test_western_text_without_a_mark_is_read_too() -> None:
    assert decode("Café à la crème, 5 €".encode("cp1252")) == "Café à la crème, 5 €"
    assert decode("Привет".encode("koi8-r"), "text/plain; charset=koi8-r") == "Привет"
    assert decode("Café".encode("cp1252"), "text/plain; charset=no-such") == "Café"
    assert decode("Café".encode("cp1252"), "text/plain; charset=base64") == "Café"


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="no text"):
        text_of(bytes(range(256)) * 20, "a.txt")
    with pytest.raises(UnreadableFile, match="holds no text"):
        text_of(" \n\t\u200b".encode(), "a.txt")


def test_a_page_gives_what_its_reader_sees() -> None:
    page = """<!doctype html><html><head><title>Opening
      hours</title><style>p {color: red}</style><script>alert("no")</script></head><body>
      <h2>Desk &amp; phone</h2><p>Open from <b>nine</b> to&nbsp;five.<br>Closed on Sunday.</p>
      <ul><li>Ring twice</li><li>Wait</li></ul><template>not shown</template><div hidden>nor this</div>
      <table><tr><th>Day</th><th>Room</th></tr><tr><td>Monday</td><td>4</td></tr></table>
      <pre>if x:
    y()</pre><img alt="a map" src="x.png"><noscript>off</noscript></body></html>"""
    found = read_file(page.encode(), name="a.html")
    assert found.title == "Opening hours"
    assert found.text.split("\n") == [
        "## Desk & phone",
        "Open from nine to five.",
        "Closed on Sunday.",
        "- Ring twice",
        "- Wait",
        "Day | Room",
        "Monday | 4",
        "if x:",
        "    y()",
        "[image: a map]",
    ]


@pytest.mark.parametrize(
    "page", ["<p>unclosed <b>tags", "<head>x<body>text", "<<>>< p >", "<svg><p>x</svg>text", "a < b & c > d"]
)
def test_broken_pages_are_read_as_far_as_they_go(page: str) -> None:
    assert isinstance(read_file(f"words {page}".encode(), name="a.html").text, str)


def test_a_page_says_its_own_encoding() -> None:
    page = '<html><head><meta charset="gb2312"></head><body><p>保修十二个月</p></body></html>'
    assert text_of(page.encode("gb2312"), "a.html") == "保修十二个月"


def test_json_is_kept_and_set_out_when_it_is_one_line() -> None:
    assert text_of(b'{\n "a": 1\n}', "a.json") == '{\n "a": 1\n}'
    one_line = b'{"rows": [' + b",".join(b'{"city": "Oslo", "n": %d}' % n for n in range(200)) + b"]}"
    assert '\n   "city": "Oslo"' in text_of(one_line, "a.json")
    assert text_of(b'{"a": 1}\n{"a": 2}\n', "a.jsonl") == '{"a": 1}\n{"a": 2}\n'
    for broken in (b"{", b'{"a": 1} x', b"[" * 100_000):
        with pytest.raises(UnreadableFile):
            text_of(broken, "a.json")


def test_a_table_says_in_each_row_what_its_cells_are() -> None:
    assert text_of(b"city,limit\nOslo,1200\nBergen,\n", "a.csv") == "city: Oslo; limit: 1200\ncity: Bergen"
    assert text_of(b"city;limit\nOslo;1200\n", "a.csv") == "city: Oslo; limit: 1200"
    assert text_of(b"city\tlimit\nOslo\t1200\textra\n", "a.tsv") == "city: Oslo; limit: 1200; extra"
    assert text_of(b"just one line", "a.csv") == "just one line"
    assert (
        text_of(b'name,note\n"Ann, B.","says ""hi""\nand more"\n', "a.csv")
        == 'name: Ann, B.; note: says "hi"\nand more'
    )


def test_pdf_and_word() -> None:
    assert text_of(pdf("Refunds take 14 days.", "Second page."), "a.pdf") == "Refunds take 14 days.\n\nSecond page."
    assert text_of(pdf("By its content."), "misnamed.txt") == "By its content."
    assert text_of(word(), "a.docx").split("\n") == [
        "# Travel rules",
        "Trains are booked in second class.",
        "City | Limit",
        "Oslo | 1200",
        "After the table.",
    ]


def test_damaged_files_are_refused() -> None:
    for name, data in (
        ("a.pdf", b"%PDF-1.4 and nothing more"),
        ("a.pdf", pdf("x")[:200]),
        ("a.pdf", b"no pdf at all"),
        ("a.docx", b"no zip at all"),
        ("a.docx", word()[:-3000]),
    ):
        with pytest.raises(UnreadableFile):
            text_of(data, name)
    hollow = io.BytesIO()
    with zipfile.ZipFile(hollow, "w") as packed:
        packed.writestr("word/document.xml", "<broken")
    with pytest.raises(UnreadableFile):
        text_of(hollow.getvalue(), "a.docx")


def test_entities_in_a_word_file_do_not_read_files() -> None:
    attack = (
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>A&e;B</w:t>'
        "</w:r></w:p></w:body></w:document>"
    )
    source, out = io.BytesIO(word()), io.BytesIO()
    with zipfile.ZipFile(source) as packed, zipfile.ZipFile(out, "w") as made:
        for item in packed.namelist():
            made.writestr(item, attack if item == "word/document.xml" else packed.read(item))
    try:
        text = text_of(out.getvalue(), "a.docx")
    except UnreadableFile:
        return
    assert set(text) <= set("AB")


def test_kinds_are_told_by_content_then_name_then_type() -> None:
    assert type_of(b"x", "a.MD") == "markdown"
    assert type_of(b"x", "download", "text/html; charset=utf-8") == "html"
    assert type_of(b"x", "README") == "text"
    assert type_of(b"x", "a.weird", "text/x-log") == "text"
    for name, media in (("a.exe", None), ("a.doc", "application/msword"), ("a", "image/png"), ("a.zip", None)):
        with pytest.raises(UnknownFileType, match="docx"):
            type_of(b"x", name, media)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as packed:
        packed.writestr("a.txt", "x")
    with pytest.raises(UnknownFileType):
        type_of(other.getvalue(), "a.docx")


def test_sizes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    with pytest.raises(FileTooLarge):
        text_of(b"12345678901", "a.txt")
    monkeypatch.setattr(files, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(files, "MAX_CHARS", 10)
    for data, name in ((b"12345678901", "a.txt"), (pdf("12345678901"), "a.pdf"), (word(), "a.docx")):
        with pytest.raises(FileTooLarge):
            text_of(data, name)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package, data, name in (("pypdf", pdf("x"), "a.pdf"), ("docx", word(), "a.docx")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(Unavailable, match=r"extra 'files'"):
            text_of(data, name)


def test_reading_text_loads_no_package_for_other_kinds() -> None:
    code = (
        "import sys; from memos.reading.files import read_file; read_file(b'x y', name='a.txt');"
        "print([m for m in ('pypdf', 'docx', 'lxml') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("never_ends", ["<a b='", "<!--"])
def test_a_page_that_is_made_to_take_for_ever_is_given_up(never_ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "SECONDS", 0.2)
    monkeypatch.setattr(web, "SLOWEST", 1 << 30)
    begun = time.monotonic()
    with pytest.raises(UnreadableFile, match="too long"):
        read_file((never_ends * 8_000).encode(), name="a.html")
    assert time.monotonic() - begun < 5
