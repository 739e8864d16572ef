from __future__ import annotations

import asyncio

import pytest

from memos import AsyncMemOS
from memos.errors import InvalidInput
from memos.models.address import address_of
from memos.models.factory import make_embedder, make_reranker
from memos.settings import Settings

SECRET = "sk-very-secret"


def embed_once(embedder):
    asyncio.run(embedder.embed(["one"], purpose="query"))


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE", "MOS_EMBEDDER_API_BASE"])
@pytest.mark.parametrize("key", ["OPENAI_API_KEY", "MOS_EMBEDDER_API_KEY"])
def test_the_usual_variables_of_openai_reach_the_server(server, monkeypatch, variable, key):
    monkeypatch.setenv(variable, server.url)
    monkeypatch.setenv(key, SECRET)
    embed_once(make_embedder("openai:m"))
    assert server.requests[0].path == "/embeddings"
    assert server.requests[0].headers["Authorization"] == f"Bearer {SECRET}"


def test_a_server_of_ones_own_needs_no_key(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    embed_once(make_embedder("openai:m"))
    assert "Authorization" not in server.requests[0].headers


@pytest.mark.parametrize("url", [None, "https://api.openai.com/v1", "https://API.openai.com:443/v1/"])
def test_openai_itself_without_a_key_is_refused_with_the_variables(url):
    with pytest.raises(
        InvalidInput, match=r"MEMOS_EMBEDDER_KEY or OPENAI_API_KEY.*MEMOS_EMBEDDER_URL or OPENAI_BASE_URL"
    ):
        make_embedder("openai:m", base_url=url)


@pytest.mark.parametrize(("spec", "key"), [("cohere:m", "COHERE_API_KEY"), ("jina:m", "JINA_API_KEY")])
def test_a_hosted_reranker_takes_its_key_from_the_usual_variable_and_wants_one(server, monkeypatch, spec, key):
    with pytest.raises(InvalidInput, match=f"MEMOS_RERANKER_KEY or {key}"):
        make_reranker(spec)
    monkeypatch.setenv(key, SECRET)
    asyncio.run(make_reranker(spec, base_url=server.url).rerank("q", ["one"]))
    assert server.requests[0].headers["Authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("10.0.0.7", "http://10.0.0.7:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("http://host:1/", "http://host:1"),
        ("https://host/ollama/", "https://host/ollama"),
        ("[::1]:5", "http://[::1]:5"),
    ],
)
@pytest.mark.parametrize("variable", ["OLLAMA_HOST", "OLLAMA_API_BASE"])
def test_the_host_of_ollama_may_be_written_as_ollama_allows_it(given, url, variable):
    assert address_of("ollama", "embedder", None, None, {variable: given}).url == url


@pytest.mark.parametrize("bad", ["host:port", "http://[::1", "host:99999"])
def test_an_address_that_is_none_is_refused_and_not_a_crash(bad):
    with pytest.raises(InvalidInput, match="address"):
        address_of("ollama", "embedder", None, None, {"OLLAMA_HOST": bad})
    with pytest.raises(InvalidInput, match="address"):
        address_of("openai", "embedder", f"http://{bad.removeprefix('http://')}", None, {})


def test_what_is_given_goes_before_the_variables():
    env = {"OPENAI_BASE_URL": "http://other", "OPENAI_API_KEY": "other"}
    found = address_of("openai", "embedder", "http://mine", "mine", env)
    assert (found.url, found.key) == ("http://mine", "mine")
    assert "mine" not in repr(found).replace("http://mine", "")


async def test_the_settings_reach_both_servers_and_no_secret_is_kept(server, monkeypatch, tmp_path):
    monkeypatch.setenv("MEMOS_EMBEDDER_URL", f"{server.url}/v1")
    monkeypatch.setenv("MEMOS_EMBEDDER_KEY", SECRET)
    monkeypatch.setenv("MEMOS_RERANKER_URL", f"{server.url}/r")
    monkeypatch.setenv("MEMOS_RERANKER_KEY", SECRET + "2")
    async with AsyncMemOS(tmp_path, embedder="openai:m", reranker="tei") as memos:
        await memos.add(["Ann likes tea.", "Bob likes coffee."], wait=True)
        await memos.search("who likes tea?")
        assert SECRET not in repr(memos.settings)
    keys = {request.path: request.headers["Authorization"] for request in server.requests}
    assert keys == {"/v1/embeddings": f"Bearer {SECRET}", "/r/rerank": f"Bearer {SECRET}2"}
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file
            assert server.url.encode() not in file.read_bytes(), file


async def test_a_missing_key_is_told_at_the_start(tmp_path):
    memos = AsyncMemOS(tmp_path, embedder="openai:m")
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        await memos.start()


def test_printed_settings_say_of_a_key_only_whether_it_is_set():
    settings = Settings.load(
        {
            "MEMOS_EMBEDDER_KEY": SECRET,
            "MEMOS_EMBEDDER_URL": f"http://ann:{SECRET}@host/v1?key={SECRET}",
            "MEMOS_QUEUE": f"redis://:{SECRET}@host:6379/0",
        }
    )
    rows = {name: value for name, value, _ in settings.rows()}
    assert (rows["embedder_key"], rows["reranker_key"]) == ("set", "not set")
    assert rows["embedder_url"] == "http://***@host/v1"
    assert rows["queue"] == "redis://***@host:6379/0"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("MEMOS_EMBEDDER_URL", "host:80"), ("MEMOS_RERANKER_URL", "ftp://x"), ("MEMOS_EMBEDDER_KEY", "schlüssel")],
)
def test_a_value_that_cannot_be_used_names_its_variable(variable, value):
    with pytest.raises(InvalidInput, match=variable) as found:
        Settings.load({variable: value})
    assert "schlüssel" not in str(found.value)


@pytest.mark.parametrize("variable", ["MEMOS_EMBEDDER_URL", "MEMOS_LLM_URL", "MEMOS_LLM_CHAT_URL", "MEMOS_QUEUE"])
def test_an_address_of_the_wrong_kind_is_told_without_its_password(variable):
    with pytest.raises(InvalidInput, match=variable) as found:
        Settings.load({variable: f"ftp://ann:{SECRET}@host/v1"})
    assert SECRET not in str(found.value)
    assert "ftp://***@host/v1" in str(found.value)
