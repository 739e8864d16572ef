"""The OpenAPI description is complete: whoever reads only it can use the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memos import AsyncMemOS
from memos.server.app import create_app


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    document = create_app(AsyncMemOS("unused", embedder="none")).openapi()
    return document | {"paths": {path: item for path, item in document["paths"].items() if path.startswith("/v1/")}}


def operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_every_operation_has_a_name_a_summary_a_description_and_a_tag(description: dict[str, Any]) -> None:
    found = list(operations(description))
    assert len(found) >= 45
    for name, operation in found:
        for field in ("operationId", "summary", "description", "tags", "security"):
            assert operation.get(field), f"{name} has no {field}"
    names = [operation["operationId"] for _, operation in found]
    assert len(set(names)) == len(names)


def test_every_operation_tells_its_errors_in_our_envelope(description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        wanted = {"400", "401", "403", "404", "422", "429", "500", "503"}
        if "requestBody" in operation:
            wanted |= {"408", "413", "415"}
        assert wanted <= set(operation["responses"]), name
        for status, answer in operation["responses"].items():
            if not status.startswith("2"):
                assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorAnswer"}
                assert "example" in answer["content"]["application/json"]


def test_every_operation_tells_what_it_answers(description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        [(status, answer)] = [(s, a) for s, a in operation["responses"].items() if s.startswith("2")]
        if status != "204":
            assert answer["content"], name
            for content in answer["content"].values():
                assert content["schema"], name


def test_every_parameter_and_every_field_of_a_request_is_explained(description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), f"{name}: {parameter['name']}"
    schemas = description["components"]["schemas"]
    explained = (
        "Add Listing Counting Explain Patch NewCube NewUser KeyWish Choice StartTurn EndTurn ReportStep ReportedStep "
        "ReportSubagent ReportOutcome EndSession Recall Evolve SetState EditSkill UseSkill Publish"
    )
    for model in explained.split():
        for field, schema in schemas[model]["properties"].items():
            told = str(schema)
            assert "description" in told or "examples" in told or "$ref" in told, f"{model}.{field}"


def test_the_fields_of_a_filter_are_listed(description: dict[str, Any]) -> None:
    told = description["components"]["schemas"]["Filter"]["description"]
    assert "`tags`: contains, eq, exists, in, like, ne, nin" in told


def test_bounds_are_told(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    explain, key = schemas["Explain"]["properties"], schemas["KeyWish"]["properties"]
    assert {"minimum": 0, "maximum": 1}.items() <= explain["threshold"].items()
    assert {"minimum": 1, "maximum": 10_000}.items() <= explain["limit"]["anyOf"][0].items()
    assert {"exclusiveMinimum": 0, "maximum": 36_500}.items() <= key["expires_in_days"]["anyOf"][0].items()
    assert {"minimum": 1, "maximum": 10_000}.items() <= schemas["Listing"]["properties"]["limit"].items()
    unknown = [
        path for path in _keys(description["components"]["schemas"]) if path in ("ge", "gt", "le", "lt", "min_length")
    ]
    assert set(unknown) <= {"gt", "lt"}  # operators of a filter


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
