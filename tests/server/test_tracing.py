"""Spans of requests and tasks, without contents; none at all where there is no collector."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest
from fastapi import FastAPI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from serving import SRC, Starter

from memos import AsyncMemOS, tracing
from memos.storage.tasks import TaskQuery


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.use(provider)
    yield exporter
    tracing.use(None)


@pytest.fixture
async def app(app: FastAPI) -> FastAPI:
    async def item(id: str) -> dict[str, str]:
        return {"id": id}

    async def crash() -> None:
        raise RuntimeError("private")

    app.add_api_route("/items/{id}", item)
    app.add_api_route("/crash", crash)
    return app


async def test_a_request_is_a_span_that_goes_on_the_callers_trace(
    spans: InMemorySpanExporter, app_client: httpx2.AsyncClient
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    await app_client.get(
        "/items/private", params={"q": "private"}, headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    )
    (span,) = [s for s in spans.get_finished_spans() if s.name == "GET /items/{id}"]
    assert span.attributes == {
        "http.request.method": "GET",
        "http.route": "/items/{id}",
        "http.response.status_code": 200,
    }
    assert f"{span.context.trace_id:032x}" == trace
    assert "private" not in span.to_json()


async def test_a_broken_request_is_a_failed_span_without_its_words(
    spans: InMemorySpanExporter, app_client: httpx2.AsyncClient
) -> None:
    assert (await app_client.get("/crash")).status_code == 500
    (span,) = spans.get_finished_spans()
    assert not span.status.is_ok
    assert span.attributes["error.type"] == "RuntimeError"
    assert "private" not in span.to_json()


async def test_a_task_is_a_span(spans: InMemorySpanExporter, app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add("A private thing I like is tea.", user="alice")
    await memos.tasks.wait(TaskQuery(), timeout=10)
    found = {s.name: s for s in spans.get_finished_spans()}
    assert found["task digest"].attributes["memos.task.kind"] == "digest"
    assert found["task digest"].attributes["memos.task.failed"] == 0
    assert not any("private" in s.to_json() or "alice" in s.to_json() for s in found.values())


async def test_without_a_collector_nothing_is_traced(app_client: httpx2.AsyncClient) -> None:
    assert not tracing.active()
    with tracing.span("x", {}) as span:
        assert span is None
    assert (await app_client.get("/items/1")).status_code == 200


def test_no_endpoint_and_missing_packages_are_no_failure() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
        "import logging, os; logging.basicConfig(); from memos import tracing\n"
        "assert not tracing.start()\n"
        "assert not [m for m in sys.modules if m.startswith('opentelemetry')]\n"
        "os.environ['OTEL_EXPORTER_OTLP_ENDPOINT'] = 'http://127.0.0.1:9'\n"
        "sys.modules['opentelemetry.sdk.trace'] = None\n"
        "assert not tracing.start()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install '.[otel]'" in done.stderr


def test_a_real_server_sends_its_spans_to_the_collector(serve: Starter) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    collector = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    try:
        endpoint = f"http://127.0.0.1:{collector.server_port}"
        live = serve(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_COMPRESSION="none")
        with live.client() as client:
            client.get("/health")
        assert live.stop() == 0
    finally:
        collector.shutdown()
    assert any(b"GET /health" in body for body in received)
