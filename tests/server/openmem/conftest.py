"""The cloud wire of an application in this process."""

from __future__ import annotations

import httpx2
import pytest
from cloud_wire import Cloud


@pytest.fixture
async def cloud(app_client: httpx2.AsyncClient) -> Cloud:
    return Cloud(app_client)
