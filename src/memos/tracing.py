"""OpenTelemetry spans, when there is somebody to send them to: the packages (extra `otel`) and OTEL_EXPORTER_OTLP_ENDPOINT.

Otherwise a span costs a comparison. Spans hold kinds, counts and routes; no contents, names or ids of memories.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from memos.logs import get_logger

log = get_logger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_provider: Any = None
_tracer: Any = None


def start(service: str = "memos") -> bool:
    """Send spans to the collector that the environment names; False when it names none, or a package is missing."""
    if _tracer is not None:
        return True
    if not any(os.environ.get(name, "").strip() for name in ENDPOINTS):
        return False
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        log.warning(
            "no_tracing",
            missing=error.name,
            hint="install the extra 'otel': pip install '.[otel]' in a checkout of MemOS",
        )
        return False
    provider = TracerProvider(resource=Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", service)}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    use(provider)
    return True


def use(provider: Any) -> None:
    """Make spans with this provider (None: no more)."""
    global _provider, _tracer
    _provider, _tracer = provider, None if provider is None else provider.get_tracer("memos")


def stop() -> None:
    """Send what is left."""
    if _provider is not None:
        _provider.shutdown()
        use(None)


def active() -> bool:
    """Whether spans go anywhere."""
    return _tracer is not None


@contextlib.contextmanager
def span(name: str, attributes: Mapping[str, Any], *, parent: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A span around a block (None when there is no tracing). `parent`: headers with the context of who asked.

    An exception marks it as failed with the name of its class; what the exception says stays out.
    """
    if _tracer is None:
        yield None
        return
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind, Status, StatusCode

    context = extract(parent) if parent else None
    kind = SpanKind.INTERNAL if parent is None else SpanKind.SERVER
    with _tracer.start_as_current_span(
        name, context, kind, dict(attributes), record_exception=False, set_status_on_exception=False
    ) as made:
        try:
            yield made
        except Exception as error:
            made.set_attribute("error.type", type(error).__name__)
            made.set_status(Status(StatusCode.ERROR))
            raise
