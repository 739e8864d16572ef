"""Drives the real MemOS client, from its own package, unmodified: calls come as JSON lines on stdin, answers go to stdout.

    python -I real_client.py FOLDER_OF_THE_UNPACKED_WHEEL BASE_URL API_KEY

The package is called `memos` like ours, so it lives in this process alone. Importing all of it would load torch and much more; the
client is imported without the package's own `__init__`, and two packages that it never calls are stood in for.
"""

from __future__ import annotations

import json
import logging.handlers
import sys
import types
from typing import Any


def main(root: str, base_url: str, key: str) -> None:
    """Answer calls until stdin ends."""
    package = types.ModuleType("memos")
    package.__path__ = [f"{root}/memos"]
    sys.modules["memos"] = package
    _stand_in("concurrent_log_handler", ConcurrentTimedRotatingFileHandler=logging.handlers.TimedRotatingFileHandler)
    _stand_in("transformers", DynamicCache=type("DynamicCache", (), {}))
    stdout, sys.stdout = sys.stdout, sys.stderr  # the client logs to stdout

    from memos.api.client import MemOSClient

    client = MemOSClient(api_key=key, base_url=base_url)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer: dict[str, Any] = {"value": _plain(getattr(client, name)(**arguments))}
        except Exception as error:
            answer = {"error": type(error).__name__, "text": str(error)}
        stdout.write(json.dumps(answer) + "\n")
        stdout.flush()


def _stand_in(name: str, **attributes: object) -> None:
    module = types.ModuleType(name)
    for attribute, value in attributes.items():
        setattr(module, attribute, value)
    sys.modules[name] = module


def _plain(value: Any) -> Any:
    """What the client returned; of its models also the properties it adds."""
    if not hasattr(value, "model_dump"):
        return list(value) if hasattr(value, "__next__") else value
    names = ("success", "task_id", "status", "knowledgebase_id", "response")
    extra = {name: getattr(value, name) for name in names if isinstance(getattr(type(value), name, None), property)}
    return {"model": type(value).__name__, **value.model_dump(), **extra}


if __name__ == "__main__":
    main(*sys.argv[1:])
