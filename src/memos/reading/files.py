"""Files to text: plain text, Markdown, HTML, JSON and CSV here, PDF and Word by the packages of the extra `files`.

Nothing is fetched or opened by name: bytes come in, text goes out. A file that cannot be read is an error that says why.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memos.errors import FileTooLarge, Unavailable, UnknownFileType, UnreadableFile
from memos.reading.parts import is_blank, well_formed
from memos.reading.web import html_text

MAX_BYTES = 100 << 20  # of one file
MAX_CHARS = 10_000_000  # of its text
MAX_UNPACKED = 300 << 20  # bytes in a packed file
MAX_PAGES = 10_000
_SAMPLE = 20_000  # characters by which an encoding is judged

_MARKS = (  # the longer ones first: that of UTF-32 begins like that of UTF-16
    *((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
    *((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_NEEDS = (
    "reading {what} files needs a package that is not installed; "
    "install the extra 'files': pip install '.[files]' in a checkout of MemOS"
)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What a file says, and what it is: one of `text`, `markdown`, `html`, `json`, `csv`, `pdf`, `docx`."""

    text: str
    type: str
    title: str | None = None


def read_file(data: bytes, *, name: str, media_type: str | None = None) -> ReadFile:
    """The text of a file. Blocking; large files take seconds: call it in a thread.

    Raises FileTooLarge, UnknownFileType (naming what can be read), UnreadableFile (damaged, protected or without text),
    and Unavailable when the package for its type is missing.
    """
    if len(data) > MAX_BYTES:
        raise FileTooLarge(f"{name!r:.80} has {len(data) >> 20} MB; at most {MAX_BYTES >> 20} are read")
    kind = type_of(data, name, media_type)
    found = _READERS[kind](data, media_type)
    if is_blank(found.text):
        raise UnreadableFile(f"{name!r:.80} holds no text (a scan, perhaps?); nothing was stored")
    if len(found.text) > MAX_CHARS:
        raise FileTooLarge(
            f"{name!r:.80} has {len(found.text):,} characters of text; at most {MAX_CHARS:,} are kept. Split it"
        )
    return found


def type_of(data: bytes, name: str, media_type: str | None = None) -> str:
    """What a file is: by how it begins where that is plain, then by its name, then by its media type."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _packed(data, name)
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    declared = (media_type or "").split(";")[0].strip().lower()
    kind = _BY_ENDING.get(ending) or _BY_MEDIA.get(declared)
    if kind in ("pdf", "docx"):
        raise UnreadableFile(f"{name!r:.80} is no {kind} file: it does not begin like one")
    if kind is None and not ending and (declared.startswith("text/") or declared in ("", "application/octet-stream")):
        kind = "text"
    if kind is None and declared.startswith("text/"):
        kind = "text"
    if kind is None:
        what = f"{name!r:.80}" + (f" ({declared})" if declared else "")
        raise UnknownFileType(f"{what} cannot be read; files may be {', '.join(sorted(_BY_ENDING))}")
    return kind


def _packed(data: bytes, name: str) -> str:
    """A Word file is a zip file with a document in it; other zip files are not read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            names = set(packed.namelist())
            unpacked = sum(item.file_size for item in packed.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as e:
        raise UnreadableFile(f"{name!r:.80} is damaged: {e}") from None
    if "word/document.xml" not in names:
        raise UnknownFileType(f"{name!r:.80} is a packed file, but no Word document; unpack it first")
    if unpacked > MAX_UNPACKED:
        raise FileTooLarge(f"{name!r:.80} unpacks to {unpacked >> 20} MB; at most {MAX_UNPACKED >> 20} are read")
    return "docx"


# -- text in its encodings ---------------------------------------------------------------------------------------------


def decode(data: bytes, media_type: str | None = None) -> str:
    """Bytes as text: by byte order mark, as UTF-8, by the declared charset, else as GB 18030 or Windows-1252, whichever
    fits. Line ends become \\n. Raises UnreadableFile for what is no text.
    """
    text = _decoded(data, media_type)
    if _CONTROL.search(text[:4096]) is not None and len(_CONTROL.findall(text[:4096])) > 4096 // 200:
        raise UnreadableFile("the file is no text: it is full of control characters")
    text = well_formed(text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


def _decoded(data: bytes, media_type: str | None) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    declared = _CHARSET.search(media_type or "")
    if declared and (text := _strictly(data, declared[1])) is not None:
        return text
    chinese = _strictly(data, "gb18030")
    if chinese is not None and len(_HAN.findall(chinese[:_SAMPLE])) > len(chinese[:_SAMPLE]) // 10:
        return chinese
    return data.decode("cp1252", "replace")


def _strictly(data: bytes, encoding: str) -> str | None:
    """The text in an encoding; None where it is not in it, or there is no such encoding for text."""
    try:
        return data.decode(encoding)
    except (LookupError, ValueError):
        return None


# -- the types ---------------------------------------------------------------------------------------------------------


def _read_text(data: bytes, media_type: str | None) -> ReadFile:
    return ReadFile(decode(data, media_type), "text")


def _read_markdown(data: bytes, media_type: str | None) -> ReadFile:
    return ReadFile(decode(data, media_type), "markdown")


def _read_html(data: bytes, media_type: str | None) -> ReadFile:
    head = data[:2048].decode("latin-1")
    declared = media_type if _CHARSET.search(media_type or "") else head
    title, text = html_text(decode(data, declared))
    return ReadFile(text, "html", title or None)


def _read_json(data: bytes, media_type: str | None) -> ReadFile:
    """JSON as it is written; on one long line, it is set out so that its parts can be found apart."""
    text = decode(data, media_type)
    try:
        value = json.loads(text)
    except RecursionError:
        raise UnreadableFile("the JSON is nested too deep") from None
    except ValueError as e:
        if _is_json_lines(text):
            return ReadFile(text, "json")
        raise UnreadableFile(f"the file is no JSON: {e}") from None
    if text.count("\n") < len(text) // 2000:
        text = json.dumps(value, ensure_ascii=False, indent=1)
    return ReadFile(text, "json")


def _is_json_lines(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        for line in lines:
            json.loads(line)
    except (ValueError, RecursionError):
        return False
    return len(lines) > 1


def _read_csv(data: bytes, media_type: str | None) -> ReadFile:
    """Each row with the names of its columns, so that a row says by itself what it means."""
    text = decode(data, media_type)
    first = text.lstrip().split("\n", 1)[0]
    mark = max(",;\t|", key=first.count)  # the one the names of the columns are parted by
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=mark) if any(cell.strip() for cell in row)]
    except csv.Error as e:
        raise UnreadableFile(f"the file is no CSV: {e}") from None
    if len(rows) < 2:
        return ReadFile(text, "csv")
    head = [cell.strip() for cell in rows[0]]
    return ReadFile("\n".join(_row(head, row) for row in rows[1:]), "csv")


def _row(head: list[str], row: list[str]) -> str:
    named = ((head[i] if i < len(head) else "", cell.strip()) for i, cell in enumerate(row))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _read_pdf(data: bytes, media_type: str | None) -> ReadFile:
    try:
        import pypdf
        import pypdf.errors
    except ImportError:
        raise Unavailable(_NEEDS.format(what="PDF")) from None
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFile("the PDF is protected by a password")
        if len(reader.pages) > MAX_PAGES:
            raise FileTooLarge(f"the PDF has {len(reader.pages):,} pages; at most {MAX_PAGES:,} are read")
        pages = list(_within((page.extract_text() or "" for page in reader.pages), "PDF"))
        title = (reader.metadata.title if reader.metadata else None) or None
    except (UnreadableFile, FileTooLarge):
        raise
    except (*_BROKEN, pypdf.errors.PyPdfError) as e:
        raise UnreadableFile(f"the PDF is damaged: {type(e).__name__}: {e!s:.200}") from None
    return ReadFile(_clean("\n\n".join(page.strip() for page in pages if page.strip())), "pdf", title)


def _read_docx(data: bytes, media_type: str | None) -> ReadFile:
    try:
        import docx
        import docx.exceptions
    except ImportError:
        raise Unavailable(_NEEDS.format(what="Word")) from None
    try:
        document = docx.Document(io.BytesIO(data))
        lines = list(_within(_blocks(document), "Word file"))
        title = document.core_properties.title or None
    except FileTooLarge:
        raise
    except (*_BROKEN, docx.exceptions.PythonDocxError) as e:
        raise UnreadableFile(f"the Word file is damaged: {type(e).__name__}: {e!s:.200}") from None
    return ReadFile(_clean("\n".join(lines)), "docx", title)


def _blocks(document: Any) -> Iterator[str]:
    """Paragraphs and tables in the order they stand."""
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            for row in block.rows:
                yield " | ".join(" ".join(cell.text.split()) for cell in row.cells)
            continue
        style = str(getattr(block.style, "name", "") or "")
        level = style.removeprefix("Heading ")
        yield f"{'#' * int(level)} {block.text}" if style.startswith("Heading ") and level.isdigit() else block.text


def _within(texts: Iterator[str], what: str) -> Iterator[str]:
    """The texts, as long as they are not too long together."""
    total = 0
    for text in texts:
        total += len(text)
        if total > MAX_CHARS:
            raise FileTooLarge(f"the {what} has more than {MAX_CHARS:,} characters of text; split it")
        yield text


def _clean(text: str) -> str:
    return _CONTROL.sub("", well_formed(text))


# What the packages raise, beside their own errors, for files that are damaged or hostile.
_BROKEN = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError),
    *(OSError, EOFError, RuntimeError, SyntaxError, struct.error, zlib.error, zipfile.BadZipFile),
)
_READERS: Mapping[str, Callable[[bytes, str | None], ReadFile]] = {
    "text": _read_text,
    "markdown": _read_markdown,
    "html": _read_html,
    "json": _read_json,
    "csv": _read_csv,
    "pdf": _read_pdf,
    "docx": _read_docx,
}
_BY_ENDING: Mapping[str, str] = {
    "txt": "text",
    "text": "text",
    "log": "text",
    "md": "markdown",
    "markdown": "markdown",
    "html": "html",
    "htm": "html",
    "json": "json",
    "jsonl": "json",
    "csv": "csv",
    "tsv": "csv",
    "pdf": "pdf",
    "docx": "docx",
}
_BY_MEDIA: Mapping[str, str] = {
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
    "application/x-ndjson": "json",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}
