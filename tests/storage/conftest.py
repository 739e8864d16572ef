"""What fails in the suites of the ports is explained as in any other test. (This file also makes them importable below.)"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *("conformance", "conformance_purge", "conformance_reads", "conformance_search", "conformance_writes"),
    *("queue_asking", "queue_enqueueing", "queue_histories", "queue_leasing", "queue_scheduling", "queue_waiting"),
)
