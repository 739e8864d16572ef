"""What the OpenAPI document says beyond the routes themselves: where a key goes, for every wire alike."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from memos.server.auth import PUBLIC

_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "mk_…",
    "description": "An API key (`memos keys create`), where the server asks for one: `Authorization: Bearer mk_…`.",
}


def install(app: FastAPI) -> None:
    """Have `app.openapi()` name the key that routes need."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            document.setdefault("components", {})["securitySchemes"] = {"ApiKey": _SCHEME}
            for path, operations in document["paths"].items():
                for operation in operations.values() if path not in PUBLIC else ():
                    operation["security"] = [{"ApiKey": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
