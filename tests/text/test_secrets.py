"""Credentials are left out of what is learned and told, and nothing else is."""

from __future__ import annotations

import time

import pytest

from memos.memory.learned import Action
from memos.text.calls import call
from memos.text.secrets import without_secrets


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("export PGPASSWORD=hunter2-S3 && psql", "export PGPASSWORD={secret} && psql"),
        (
            "curl -H 'Authorization: Bearer abc.def-12345' https://x.org",
            "curl -H 'Authorization: Bearer {secret}' https://x.org",
        ),
        ("psql postgres://app:s3cr3t@db:5432/x", "psql postgres://app:{secret}@db:5432/x"),
        ("login --token ghp_0123456789abcdef0123", "login --token {secret}"),
        ('{"api_key": "abc12345", "x": 1}', '{"api_key": "{secret}", "x": 1}'),
        ("aws --key AKIAABCDEFGHIJKLMNOP", "aws --key {secret}"),
    ],
)
def test_a_credential_is_left_out(text: str, told: str) -> None:
    assert without_secrets(text) == told
    assert without_secrets(told) == told


@pytest.mark.parametrize(
    "text",
    [
        "curl http://localhost:8080/health",
        "PASSWORD=$DB_PASS run",
        "export API_KEY={value1}",
        "max_tokens=1500 tokens=5",
        "kubectl create secret generic web",
        "git push origin main",
        "pytest tests/test_password_reset.py",
        "",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert without_secrets(text) == text


def test_a_call_is_told_without_them() -> None:
    assert call(Action("sh", "login --password hunter22")) == "`sh`: `login --password {secret}`"


@pytest.mark.parametrize("text", ["a" * 50_000, "-" * 50_000, "x_token" * 8_000, "://" * 20_000, "eyJ" * 20_000])
def test_it_takes_no_time(text: str) -> None:
    began = time.process_time()
    without_secrets(text)
    assert time.process_time() - began < 2
