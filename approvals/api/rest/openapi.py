"""The OpenAPI document with problem documents, and its operations as the API page shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "The reason of a refusal (RFC 9457). Some codes add members, such as `errors` or `decision`.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "A stable code for programs."},
        "detail": {"type": "string", "description": "A sentence for people."},
        "errors": {
            "type": "object",
            "description": "An error for each field, by its path.",
            "additionalProperties": {"type": "string"},
        },
    },
}


def with_problems(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the schema of problem documents."""
    document["components"]["schemas"]["Problem"] = PROBLEM
    return document


def operations(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the operations as the page shows them: method, path, texts, parameters, fields, statuses."""
    return [
        {
            "id": operation["operationId"],
            "method": method.upper(),
            "path": path,
            "summary": operation["summary"],
            "description": operation.get("description", ""),
            "parameters": [_parameter(document, parameter) for parameter in operation["parameters"]],
            "fields": list(_fields(document, operation)),
            "statuses": [(str(status), found["description"]) for status, found in operation["responses"].items()],
        }
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _parameter(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> dict[str, Any]:
    found = _field(document, parameter["name"], parameter["schema"], required=parameter["required"])
    return found | {"place": parameter["in"]}


def _fields(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the fields of a body."""
    if "requestBody" not in operation:
        return
    body = _resolved(document, operation["requestBody"]["content"]["application/json"]["schema"])
    for name, schema in body["properties"].items():
        yield _field(document, name, schema, required=name in body.get("required", ()))


def _field(document: Mapping[str, Any], name: str, schema: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    words = schema.get("description", "")
    return {"name": name, "type": _type(document, schema), "required": required, "description": words}


def _type(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    schema = _resolved(document, schema)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(document, each) for each in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(document, schema['items'])}"
    return str(schema.get("format") or schema.get("const") or schema.get("type") or "any JSON")


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Mapping[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found
