"""The folder `plugins/memos` in the home of Hermes: by it a Hermes finds the provider that reads no entry points, or that runs in
another Python.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import memos

_INIT = '''"""MemOS as memory of Hermes. Written by `memos hosts install hermes`; `memos hosts uninstall hermes` takes it away.

Where the Python of Hermes has MemOS installed, that is used; else the one it was installed from, if it is of the same version.
"""

import importlib
import logging
import sys

PYTHON = {python}
PATHS = {paths}


def register(ctx):
    try:
        plugin = _plugin()
    except ImportError as error:
        logging.getLogger("memos").warning("MemOS cannot be loaded: %s", error)
        ctx.register_memory_provider(Missing(str(error)))
    else:
        plugin.register(ctx)


def _plugin():
    try:
        plugin = importlib.import_module("memos.hosts.hermes.plugin")
        if not plugin.missing():
            return plugin
    except ImportError:
        pass
    if sys.version_info[:2] != PYTHON:
        raise ImportError(
            "Hermes runs in Python %d.%d, MemOS was installed in %d.%d; "
            "install it in the Python of Hermes too, in a checkout of MemOS: %s -m pip install ."
            % (*sys.version_info[:2], *PYTHON, sys.executable)
        )
    sys.path.extend(path for path in PATHS if path not in sys.path)  # behind what Hermes has itself
    importlib.invalidate_caches()
    if "memos" in sys.modules and getattr(sys.modules["memos"], "__file__", None) is None:
        del sys.modules["memos"]  # a folder of that name where Hermes was started: no package
    if "memos" in sys.modules and not hasattr(sys.modules["memos"], "AsyncMemOS"):
        raise ImportError("the Python of Hermes has another package called memos")
    return importlib.import_module("memos.hosts.hermes.plugin")


class Missing:
    """Stands for the provider that cannot be loaded, and says why."""

    name = "memos"

    def __init__(self, why):
        self.why = why

    def is_available(self):
        return False

    def unavailable_reason(self):
        return self.why

    def get_tool_schemas(self):
        return []

    def get_config_schema(self):
        return []
'''
_YAML = """name: memos
version: {version}
description: "MemOS - what was said and done is remembered, and learned from, in one folder of this machine."
"""


def files(folder: Path) -> dict[Path, bytes]:
    """What is written into the folder."""
    paths = [str(Path(memos.__file__).parents[1]), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    said = json.dumps(list(dict.fromkeys(paths)), ensure_ascii=False)
    init = _INIT.format(python=tuple(sys.version_info[:2]), paths=said)
    return {
        folder / "__init__.py": init.encode(),
        folder / "plugin.yaml": _YAML.format(version=memos.__version__).encode(),
    }
