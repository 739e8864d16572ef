"""Nothing outside a test reaches it: no variable of the user's own MemOS. (This file also makes `stubs` importable.)

Hypothesis measures no time: the machines that run these tests are shared. It tries the same examples each time, so that a change
is judged by what it changes; MEMOS_TEST_RANDOM=1 tries new ones.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from llm_server import LlmServer

settings.register_profile(
    "shared",
    deadline=None,
    derandomize=os.environ.get("MEMOS_TEST_RANDOM") != "1",
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("shared")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # begun in the background of a shell: children would ignore it, too
    signal.signal(signal.SIGINT, signal.default_int_handler)


OF_THE_USER = (
    *(
        "MEMOS_",
        "MOS_",
        "OPENAI_",
        "OLLAMA_",
        "COHERE_",
        "JINA_",
        "AZURE_",
        "ANTHROPIC_",
        "QWEN_",
        "DASHSCOPE_",
        "DEEPSEEK_",
    ),
    *(
        "MINIMAX_",
        "VLLM_",
        "HF_TOKEN",
        "HUGGINGFACE_",
        "MEMRADER_",
        "FEEDBACK_MODEL",
        "IMAGE_PARSER_MODEL",
        "CHAT_MODEL_LIST",
    ),
)


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [v for v in os.environ if v.startswith(OF_THE_USER)]:
        monkeypatch.delenv(variable)


@pytest.fixture(autouse=True)
def log_of_its_own() -> None:
    """A command that ran before in this process has sent the log to a file of its own, which is closed."""
    structlog.reset_defaults()


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    """A server of language models on this machine, which does as a test scripts it."""
    with LlmServer() as running:
        yield running
