"""Prometheus metrics of one application, in a registry of its own. Labels come from closed sets only."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from memos.health import Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """What is counted of requests, and what the memory system says of itself when it is asked."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._seconds = Histogram(
            "memos_http_request_seconds",
            "Seconds from request to the end of the answer.",
            ("method", "route", "status"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._in_flight = Gauge("memos_http_requests_in_flight", "Requests being answered.", registry=self.registry)
        self.streams = Gauge("memos_http_streams", "Event streams that are open.", registry=self.registry)

    def begin(self) -> None:
        """A request came in."""
        self._in_flight.inc()

    def end(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered (status 0: the client left before)."""
        self._in_flight.dec()
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def text(self, usage: Usage) -> bytes:
        """Everything, in the text format of Prometheus."""
        asked = CollectorRegistry()
        asked.register(_System(usage))
        return generate_latest(self.registry) + generate_latest(asked)


class _System(Collector):
    """The memory system as it is at one moment."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        u = self._usage
        yield CounterMetricFamily("memos_adds", "Adds that were stored, in this process.", value=u.adds)
        yield CounterMetricFamily("memos_messages", "Messages in them.", value=u.messages)
        yield GaugeMetricFamily("memos_open_cubes", "Cubes that this process has open.", value=u.open_cubes)
        yield GaugeMetricFamily("memos_resident_bytes", "Memory of their indexes.", value=u.resident_bytes)
        yield from self._queue()
        yield from self._tasks()
        yield from self._llm()

    def _queue(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("memos_queue_tasks", "Tasks in the queue.", labels=("kind", "state"))
        oldest = GaugeMetricFamily("memos_queue_oldest_seconds", "Age of the oldest task to do.", labels=("kind",))
        latency = GaugeMetricFamily(
            "memos_queue_latency_seconds", "From enqueued to completed, lately.", labels=("kind", "quantile")
        )
        for kind, stats in sorted(self._usage.queue.items()):
            for state in ("waiting", "in_progress", "failed"):
                depth.add_metric((kind, state), getattr(stats, state))
            oldest.add_metric((kind,), stats.oldest_seconds)
            latency.add_metric((kind, "0.5"), stats.latency_p50)
            latency.add_metric((kind, "0.95"), stats.latency_p95)
        yield from (depth, oldest, latency)

    def _tasks(self) -> Iterator[Metric]:
        tasks = CounterMetricFamily("memos_tasks", "Attempts that ended, in this process.", labels=("kind", "outcome"))
        spent = CounterMetricFamily("memos_task_seconds", "Seconds spent on them.", labels=("kind",))
        done = self._usage.tasks
        for kind in sorted({*done.done, *done.failed}):
            tasks.add_metric((kind, "done"), done.done[kind])
            tasks.add_metric((kind, "failed"), done.failed[kind])
            spent.add_metric((kind,), done.total_seconds[kind])
        yield from (tasks, spent)

    def _llm(self) -> Iterator[Metric]:
        labels = ("purpose", "model")
        calls = CounterMetricFamily(
            "memos_llm_calls", "Calls of language models that ended, in this process.", labels=(*labels, "outcome")
        )
        tokens = CounterMetricFamily("memos_llm_tokens", "Tokens they used.", labels=(*labels, "direction"))
        spent = CounterMetricFamily("memos_llm_seconds", "Seconds they took.", labels=labels)
        for use in self._usage.llm:
            of = (use.purpose or "", use.model or "")
            calls.add_metric((*of, "answered"), use.calls - use.failed)
            calls.add_metric((*of, "failed"), use.failed)
            tokens.add_metric((*of, "in"), use.input_tokens)
            tokens.add_metric((*of, "out"), use.output_tokens)
            spent.add_metric(of, use.seconds)
        yield from (calls, tokens, spent)
