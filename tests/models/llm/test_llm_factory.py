"""From a spec to a model: each provider asked at its place, with its key in its header, and clear words when that cannot be."""

from __future__ import annotations

import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from llm_server import LlmServer
from memos.errors import InvalidInput, ModelError, ModelUnavailable
from memos.models.llm.factory import make_chat_model
from memos.models.llm.port import ChatModel, ChatRequest
from memos.models.llm.providers import ALIASES, PROVIDERS
from memos.models.llm.remote import RemoteChatModel

ASK = ChatRequest.of("Be short.", "Where?", max_tokens=9)
SECRET = "sk-very-secret"


def headers_of(server: LlmServer) -> dict[str, str]:
    return {name.lower(): value for name, value in server.requests[-1].headers.items()}


@pytest.mark.parametrize(
    ("spec", "url_variable", "key_variable", "path", "header"),
    [
        ("openai:m", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1/chat/completions", "authorization"),
        ("openai:m", "OPENAI_API_BASE", "OPENAI_API_KEY", "/v1/chat/completions", "authorization"),
        ("qwen:m", "QWEN_API_BASE", "QWEN_API_KEY", "/v1/chat/completions", "authorization"),
        ("dashscope:m", "DASHSCOPE_BASE_URL", "DASHSCOPE_API_KEY", "/v1/chat/completions", "authorization"),
        ("deepseek:m", "DEEPSEEK_API_BASE", "DEEPSEEK_API_KEY", "/v1/chat/completions", "authorization"),
        ("minimax:m", "MINIMAX_API_BASE", "MINIMAX_API_KEY", "/v1/chat/completions", "authorization"),
        ("huggingface:a/b:c", "HUGGINGFACE_API_BASE", "HF_TOKEN", "/v1/chat/completions", "authorization"),
        ("vllm:a/b", "VLLM_API_BASE", "VLLM_API_KEY", "/v1/chat/completions", "authorization"),
        ("ollama:qwen3:4b", "OLLAMA_HOST", "", "/v1/chat/completions", ""),
        ("anthropic:m", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "/v1/messages", "x-api-key"),
        (
            *("azure:my dep", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"),
            *("/openai/deployments/my%20dep/chat/completions?api-version=2024-10-21", "api-key"),
        ),
    ],
)
async def test_a_provider_is_asked_where_its_variables_say(
    llm_server: LlmServer,
    monkeypatch: pytest.MonkeyPatch,
    spec: str,
    url_variable: str,
    key_variable: str,
    path: str,
    header: str,
) -> None:
    bare = url_variable in ("OLLAMA_HOST", "AZURE_OPENAI_ENDPOINT", "ANTHROPIC_BASE_URL")
    monkeypatch.setenv(
        url_variable,
        llm_server.origin.removeprefix("http://")
        if "ollama" in spec
        else llm_server.origin
        if bare
        else llm_server.url,
    )
    if key_variable:
        monkeypatch.setenv(key_variable, SECRET)
    model = make_chat_model(spec)
    assert model is not None
    assert SECRET not in repr(model)
    assert (await model.complete(ASK)).text == "Hello."
    assert llm_server.requests[0].path == path
    assert llm_server.requests[0].body["model"] == spec.partition(":")[2]
    if header:
        assert headers_of(llm_server)[header] in (SECRET, f"Bearer {SECRET}")
    assert (headers_of(llm_server).get("anthropic-version") is not None) == spec.startswith("anthropic")


@pytest.mark.parametrize(
    ("spec", "url", "path"),
    [
        ("azure:d", "/openai/v1/", "/openai/v1/chat/completions"),
        ("azure:d", "/openai/deployments/x", "/openai/deployments/x/chat/completions?api-version=2024-10-21"),
        ("openai-compatible:m", "/api/v3/chat/completions", "/api/v3/chat/completions"),
        ("anthropic:m", "/v1", "/v1/messages"),
        ("anthropic:m", "/proxy/v1/messages", "/proxy/v1/messages"),
        ("ollama:m", "/v1", "/v1/chat/completions"),
        ("ollama:m", "/below/v1/", "/below/v1/chat/completions"),
    ],
)
async def test_addresses_as_people_write_them(llm_server: LlmServer, spec: str, url: str, path: str) -> None:
    model = make_chat_model(spec, base_url=llm_server.origin + url)
    assert model is not None
    await model.complete(ASK)
    assert llm_server.requests[0].path == path


async def test_azure_takes_its_version_from_the_variable(
    llm_server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-01-01-preview")
    model = make_chat_model("azure:d", base_url=llm_server.origin)
    assert model is not None
    await model.complete(ASK)
    assert llm_server.requests[0].path.endswith("?api-version=2025-01-01-preview")
    assert llm_server.requests[0].body["max_completion_tokens"] == 9


@pytest.mark.parametrize("provider", [name for name, p in PROVIDERS.items() if p.usual.hosted])
def test_a_hosted_provider_wants_a_key_and_says_which_variable(provider: str) -> None:
    with pytest.raises(InvalidInput, match=f"MEMOS_LLM_KEY or {PROVIDERS[provider].usual.keys[-1]}"):
        make_chat_model(f"{provider}:m")
    model = make_chat_model(f"{provider}:m", api_key="k")
    assert isinstance(model, RemoteChatModel)
    assert (model.model_id, model.http.base_url) == (f"{provider}:m", PROVIDERS[provider].url)


def test_openai_itself_gets_the_newer_name_of_the_field() -> None:
    model = make_chat_model("openai:m", api_key="k")
    assert isinstance(model, RemoteChatModel)
    assert model.dialect.payload(ASK, stream=False, without=())["max_completion_tokens"] == 9


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nobody:m", "no language model 'nobody:m'; one of: openai:MODEL"),
        (
            "gpt-4o",
            "no language model 'gpt-4o' (a provider goes before the model: provider:model); one of: openai:MODEL",
        ),
        ("openai", "needs a model: openai:MODEL"),
        ("openai: ", "needs a model"),
        ("openai-compatible:m", "Set MEMOS_LLM_URL"),
        ("azure:d", "MEMOS_LLM_URL or AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_what_cannot_be_is_said(spec: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_chat_model(spec)
    assert said in str(caught.value)


@pytest.mark.parametrize("spec", ["none", "", " none "])
def test_none_is_no_model(spec: str) -> None:
    assert make_chat_model(spec) is None


def test_names_of_others_for_the_same_providers() -> None:
    assert set(ALIASES.values()) <= set(PROVIDERS)
    model = make_chat_model("DashScope:qwen-max", api_key="k")
    assert model is not None
    assert model.model_id == "qwen:qwen-max"


class TestTransformers:
    async def test_without_the_package_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "transformers", None)
        model = make_chat_model("transformers:some/model")
        assert model is not None
        with pytest.raises(ModelUnavailable, match="extra 'transformers'"):
            await model.complete(ASK)

    async def test_a_model_that_is_not_here_is_not_fetched(self, package: FakePackage) -> None:
        package.missing = True
        with pytest.raises(ModelUnavailable, match="hf download some/model"):
            await self.made().complete(ASK)

    async def test_it_answers_and_streams_from_a_thread(self, package: FakePackage) -> None:
        package.said = ["<thi", "nk>Hm.</think>", "In ", "the sea."]
        model = self.made()
        pieces = [piece async for piece in model.stream(ASK)]
        assert "".join(p.text for p in pieces) == "In the sea."
        assert "".join(p.reasoning for p in pieces) == "Hm."
        reply = await model.complete(ASK)
        assert (reply.text, reply.finish, reply.usage.input_tokens, reply.usage.output_tokens) == (
            "In the sea.",
            "stop",
            3,
            4,
        )
        assert package.threads.isdisjoint({threading.main_thread()})
        assert package.loads == 1

    async def test_an_answer_of_all_its_tokens_was_cut(self, package: FakePackage) -> None:
        package.said = ["a"] * 9
        assert (await self.made().complete(ASK)).finish == "length"

    async def test_what_it_raises_is_a_model_error(self, package: FakePackage) -> None:
        package.error = RuntimeError("CUDA out of memory")
        with pytest.raises(ModelError, match="RuntimeError"):
            await self.made().complete(ASK)

    def made(self) -> ChatModel:
        model = make_chat_model("transformers:some/model")
        assert model is not None
        return model


class Tensor:
    def __init__(self, length: int) -> None:
        self.shape = (1, length)


class Inputs(dict[str, Any]):
    def to(self, device: str) -> Inputs:
        return self


class FakePackage(ModuleType):
    """As much of transformers as is used: a model that says a list of pieces."""

    def __init__(self) -> None:
        super().__init__("transformers")
        self.said: list[str] = ["x"]
        self.error: Exception | None = None
        self.missing = False
        self.loads = 0
        self.threads: set[threading.Thread] = set()
        outer = self

        def tokenizer(name: str, local_files_only: bool) -> SimpleNamespace:
            if outer.missing:
                raise OSError("offline")
            assert local_files_only
            return SimpleNamespace(apply_chat_template=lambda messages, **_: Inputs(input_ids=Tensor(3)))

        class Model:
            device = "cpu"

            def generate(self, streamer: Any, stopping_criteria: Any, **options: Any) -> Tensor:
                outer.threads.add(threading.current_thread())
                if outer.error is not None:
                    raise outer.error
                for piece in outer.said:
                    streamer.put(piece)
                streamer.end()
                return Tensor(3 + len(outer.said))

        def model(name: str, local_files_only: bool, dtype: str) -> Model:
            outer.loads += 1
            return Model()

        class Streamer:
            def __init__(self, *_: Any, **__: Any) -> None:
                import queue

                self.queue: queue.Queue[str | None] = queue.Queue()

            def put(self, text: str) -> None:
                self.queue.put(text)

            def end(self) -> None:
                self.queue.put(None)

            def __iter__(self) -> Any:
                return iter(self.queue.get, None)

        self.AutoTokenizer = SimpleNamespace(from_pretrained=tokenizer)
        self.AutoModelForCausalLM = SimpleNamespace(from_pretrained=model)
        self.TextIteratorStreamer = Streamer
        self.StoppingCriteriaList = list


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> FakePackage:
    fake = FakePackage()
    monkeypatch.setitem(sys.modules, "transformers", fake)
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    return fake
