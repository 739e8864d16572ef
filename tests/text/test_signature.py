"""What kind of error a text tells of, and what kind of call an action is."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.text.signature import (
    action_head,
    context_key,
    error_signature,
    says_only_code,
    signature_key,
    telling_line,
)

TRACEBACK = """Traceback (most recent call last):
  File "/srv/u/app.py", line 3, in <module>
    import yaml
ModuleNotFoundError: No module named 'yaml'"""
COMPILER = """building 'x' extension
  src/native.c:37:10: fatal error: libpq-fe.h: No such file or directory
   37 | #include <libpq-fe.h>
compilation terminated.
error: command 'gcc' failed with exit code 1"""


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        (TRACEBACK, "ModuleNotFoundError: No module named <name>"),
        (COMPILER, "fatal error: <file>.h: No such file or directory"),
        ("bash: htop: command not found", "bash: <name>: command not found"),
        ("E: Unable to locate package libfoo-dev", "E: Unable to locate package <name>"),
        ("curl: (6) Could not resolve host: foo.example.com", "curl: (<n>) Could not resolve host: <host>"),
        ("HTTP 404 Not Found for url: https://api.x.com/v1/u/3", "HTTP 404 Not Found for url: <url>"),
        (
            "OSError: [Errno 28] No space left on device: '/tmp/x'",
            "OSError: [Errno 28] No space left on device: <path>",
        ),
        ("process exited with code 137", "process exited with code 137"),
        ("错误：找不到软件包 libpq-dev", "错误：找不到软件包 <name>"),
        ("没有那个文件或目录: /etc/foo.conf", "没有那个文件或目录: <file>.conf"),
        ("", ""),
        ("all is well\nreally", "all is well"),
    ],
)
def test_the_telling_line_is_masked(text: str, signature: str) -> None:
    assert error_signature(text) == signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'requests'"),
        (
            "a.c:3:1: fatal error: x.h: No such file or directory",
            "src/b.cc:99: fatal error: lib/y.h: No such file or directory",
        ),
        ("Error: service web is not running", "Error: service billing is not running"),
        ("/bin/sh: samtools: command not found", "/bin/sh: bwa: command not found"),
        ("connect to 10.0.0.3:5432 refused after 30s", "connect to 10.9.1.7:80 refused after 5s"),
        ("无法连接到 redis-01：连接被拒绝", "无法连接到 cache-7：连接被拒绝"),
        ("queue: invalid name 'a': must begin with 'ops-'", "queue: invalid name 'b-c': must begin with 'dev-'"),
        ("\x1b[31mError: disk /dev/sda1 is full\x1b[0m", "Error: disk /dev/nvme0n1 is full"),
    ],
)
def test_errors_of_one_kind_share_a_key(one: str, other: str) -> None:
    assert signature_key("shell", one) == signature_key("shell", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP 404", "HTTP 500"),
        ("exited with code 1", "exited with code 137"),
        (
            "PermissionError: [Errno 13] Permission denied: 'x'",
            "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
        ),
        ("fatal error: x.h: No such file or directory", "cat: x.txt: No such file or directory"),
        ("error TS2345: no", "error TS1005: no"),
    ],
)
def test_errors_of_different_kinds_do_not(one: str, other: str) -> None:
    assert signature_key("shell", one) != signature_key("shell", other)


def test_the_same_error_of_another_tool_is_another_kind() -> None:
    assert signature_key("shell", "permission denied") != signature_key("http", "permission denied")


def test_an_exception_tells_more_than_what_only_passes_it_on() -> None:
    text = "ValueError: bad port 99999\nDuring handling\nsubprocess.CalledProcessError: Command 'x' returned non-zero exit status 1."
    assert telling_line(text) == "ValueError: bad port 99999"


def test_the_place_in_a_file_is_left_out_of_the_telling_line() -> None:
    assert telling_line(COMPILER) == "fatal error: libpq-fe.h: No such file or directory"


@pytest.mark.parametrize(
    ("tool", "given", "head"),
    [
        ("bash", "sudo apt-get install -y libpq-dev", "bash apt-get install"),
        ("bash", '{"command": "cd /x && pip install psycopg2==2.9"}', "bash pip install"),
        ("write", '{"path": "/etc/x", "content": "abc"}', "write content path"),
        ("bash", "FOO=1 ./run.sh a b", "bash run.sh"),
        ("http", '{"method": "POST", "url": "https://x"}', "http POST method url"),
        ("noop", "", "noop"),
        ("bash", "[not json", "bash [not"),
    ],
)
def test_the_head_of_an_action_says_what_kind_it_is(tool: str, given: str, head: str) -> None:
    assert action_head(tool, given).lower() == head.lower()


def test_options_numbers_and_versions_make_no_other_context() -> None:
    assert context_key("bash", "pip install numpy==1.2") == context_key("bash", "pip install numpy --no-cache-dir")
    assert context_key("bash", "sudo mount x") == context_key("bash", "mount x")
    assert context_key("w", '{"path": "/a", "n": 1}') == context_key("w", '{"n": 2, "path": "/a"}')


def test_the_very_object_makes_another_context() -> None:
    assert context_key("bash", "pip install numpy") != context_key("bash", "pip install scipy")
    assert context_key("w", '{"path": "/a"}') != context_key("w", '{"path": "/b"}')


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_text_has_a_signature_that_is_stable_and_short(text: str) -> None:
    found = error_signature(text)
    assert len(found) <= 800
    assert error_signature(text) == found
    assert len(signature_key("t", text)) == 16
    assert len(context_key("t", text)) == 16
    action_head("t", text)


HOSTILE = [
    "a" * 50_000,
    "/a" * 20_000,
    "a." * 20_000,
    "'" * 20_000,
    "a-" * 20_000,
    ":" * 20_000,
    "1." * 20_000,
    "<" * 20_000,
]
HOSTILE += ["error: " + h[:390] for h in HOSTILE] + [
    "\n".join(["x: " * 130] * 300),
    json.dumps({"command": "A=1 " * 500}),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_makes_it_slow(text: str) -> None:
    start = time.process_time()
    error_signature(text)
    context_key("t", text)
    action_head("t", text)
    assert time.process_time() - start < 0.5


def test_deep_json_is_read_as_words() -> None:
    assert action_head("t", "[" * 100_000).startswith("t")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Exit code 1\nError: pg_config executable not found.", "Error: pg_config executable not found."),
        ("Exit code 127\n/bin/bash: line 1: pytest: command not found", "pytest: command not found"),
        (
            "Exit code 22\ncurl: (22) The requested URL returned error: 502",
            "curl: (22) The requested URL returned error: 502",
        ),
        (
            "Exit code 1\n\n> shop@1.0 lint\n> prettier\n\nCode style differs in 2 files",
            "Code style differs in 2 files",
        ),
        ("Exit code 1", "Exit code 1"),
    ],
)
def test_how_a_host_says_that_a_command_failed_is_not_what_failed(text: str, line: str) -> None:
    assert telling_line(text) == line
    assert says_only_code(line) is (line == "Exit code 1")


def test_the_status_at_the_end_of_a_line_stays() -> None:
    assert error_signature("curl: (22) The requested URL returned error: 502").endswith("error: 502")
