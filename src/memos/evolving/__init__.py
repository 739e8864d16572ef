"""Evolving: the handler of EVOLVE tasks. Episodes that nobody goes on with are closed; closed ones that are due are learned from.

Rows in the cube say what is to be done (law 2): a lost task is found again, one done twice changes nothing.
"""

from __future__ import annotations

from memos.evolving.evolving import Evolving

__all__ = ["Evolving"]
