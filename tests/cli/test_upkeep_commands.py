"""The commands of upkeep: working set, topics and retention, as text and as JSON."""

from __future__ import annotations

from typing import Any

import pytest
