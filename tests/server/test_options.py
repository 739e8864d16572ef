"""The server's options: where they come from, what is refused, and that each is documented."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from memos.errors import InvalidInput
from memos.server.options import ServerOptions, is_loopback

DOCS = Path(__file__).parents[2] / "docs" / "server.md"


def test_values_come_from_arguments_then_the_environment_then_defaults() -> None:
    env = {
        "MEMOS_SERVER_PORT": " 9000 ",
        "MEMOS_SERVER_METRICS": "off",
        "MEMOS_SERVER_READ_SECONDS": "2.5",
        "MEMOS_SERVER_HOST": " ",
    }
    options = ServerOptions.load(env, port=7000, host=None)
    assert (options.port, options.metrics, options.read_seconds, options.host) == (7000, False, 2.5, "127.0.0.1")


def test_lists_are_given_with_commas() -> None:
    env = {
        "MEMOS_SERVER_CORS_ORIGINS": "https://A.example, http://b:3000/",
        "MEMOS_SERVER_ALLOWED_HOSTS": "Memory.Example,[::2]",
    }
    options = ServerOptions.load(env)
    assert options.cors_origins == ("https://a.example", "http://b:3000")
    assert options.allowed_hosts == ("memory.example", "::2")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "65536"), ("port", "1.5"), ("body_mb", "-1"), ("read_seconds", "nan"), ("read_seconds", "inf"),
        ("auth", "yes"), ("cors_origins", "*"), ("cors_origins", "app.example"), ("cors_origins", "https://a/path"),
        ("log_level", "loud"), ("metrics", "perhaps"), ("streams", "many"),
    ],
)  # fmt: skip
def test_what_cannot_be_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"MEMOS_SERVER_{name.upper()}"):
        ServerOptions.load({f"MEMOS_SERVER_{name.upper()}": value})


@pytest.mark.parametrize(
    "given", [{"port": "8000"}, {"port": True}, {"cors_origins": "https://a.example"}, {"hosts": ()}]
)
def test_arguments_are_checked_too(given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        ServerOptions.load({}, **given)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True), ("LocalHost.", True), ("a.localhost", True),
        ("0.0.0.0", False), ("::", False), ("", False), ("10.0.0.1", False), ("localhost.example", False), ("127.0.0.1.example", False),
        ("::ffff:127.0.0.1", True), ("128.0.0.1", False), ("1270.0.1", False),
    ],
)  # fmt: skip
def test_what_is_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_every_option_is_documented() -> None:
    text = DOCS.read_text("utf-8")
    assert [f.name for f in fields(ServerOptions) if f"`{f.name}`" not in text] == []
