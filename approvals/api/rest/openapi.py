"""The OpenAPI document with problem documents, and its operations for the API page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from approvals.api.rest import examples
from approvals.json_types import JsonDict, JsonMapping

PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "Why a request was refused (RFC 9457). Some codes add members, such as `errors` or `decision`.",
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


TAGS = {
    "Requests": "Make requests, wait for decisions, decide, and report results.",
    "Resuming": "Continue exactly once after a decision, with the state that was stored with the request.",
    "People": "The people who work on a request, and their internal notes.",
    "Advice": "Advice from programs on a request. It never decides.",
    "Grants": "Grants, which let calls run without asking: list and revoke them.",
    "Approver scopes": "The requests that people may see, answer and decide.",
    "Policy": "The rules that allow or deny requests, or ask people.",
    "Absences": "Absences, delegates, and who is on call.",
    "Workflows": "Runs of agents with their requests.",
    "Audit": "The append-only record.",
}


def completed(document: JsonDict, site: str) -> JsonDict:
    """Complete ninja's document for strict tools, and make fields with a default optional in bodies.

    `site` is the address of this installation, without a trailing slash.
    """
    schemas = document["components"]["schemas"]
    schemas["Problem"] = PROBLEM
    used = _referenced(document["paths"], schemas)
    paths = document["paths"].values()
    sent = [
        operation.get("requestBody")
        for methods in paths
        for operation in methods.values()
    ]
    bodies = _referenced(sent, schemas)
    document["components"]["schemas"] = {
        name: _without_defaults(schema) if name in bodies else schema
        for name, schema in schemas.items()
        if name in used
    }
    document["info"] |= {
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        "contact": {"name": "Pausepoint", "url": f"{site}/api/v1/"},
    }
    document["servers"] = [{"url": site}]
    document["tags"] = [
        {"name": name, "description": text} for name, text in TAGS.items()
    ]
    return document


def _referenced(
    value: Any, schemas: JsonMapping, names: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the names of the schemas that a value refers to, directly or through others."""
    match value:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return (
                names
                if name in names
                else _referenced(schemas[name], schemas, names | {name})
            )
        case Mapping():
            members = list(value.values())
        case list():
            members = value
        case _:
            return names
    for member in members:
        names = _referenced(member, schemas, names)
    return names


def _without_defaults(schema: JsonMapping) -> JsonDict:
    """Return the schema of a body with its defaults in words: generators make a field with `default` required."""
    if "properties" not in schema:
        return dict(schema)
    fields = schema["properties"]
    return {
        **schema,
        "properties": {name: _without_default(field) for name, field in fields.items()},
    }


def _without_default(field: JsonMapping) -> JsonDict:
    rest = {name: value for name, value in field.items() if name != "default"}
    if field.get("default") in (None, "", [], {}):
        return rest
    return rest | {
        "description": f"{field.get('description', '')} Default: {json.dumps(field['default'])}.".strip()
    }


def operations(document: JsonMapping, site: str = "") -> list[JsonDict]:
    """Return the operations for the page: method, path, texts, parameters, fields, statuses, and examples.

    `site` is the address of this installation, without a trailing slash.
    """
    return [
        _operation(document, site, path, method.upper(), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _operation(
    document: JsonMapping,
    site: str,
    path: str,
    method: str,
    operation: JsonMapping,
) -> JsonDict:
    body = _example(document, operation)
    return {
        "id": operation["operationId"],
        "method": method,
        "path": path,
        "summary": operation["summary"],
        "description": operation.get("description", ""),
        "parameters": [
            _parameter(document, parameter) for parameter in operation["parameters"]
        ],
        "fields": list(_fields(document, operation)),
        "statuses": [
            (str(status), response["description"])
            for status, response in operation["responses"].items()
        ],
        "body": None if body is None else json.dumps(body, indent=2),
        "curl": examples.curl(method, site + path, body),
        "python": examples.python(method, site + path, body),
    }


def _parameter(document: JsonMapping, parameter: JsonMapping) -> JsonDict:
    field = _field(
        document, parameter["name"], parameter["schema"], required=parameter["required"]
    )
    return field | {"place": parameter["in"]}


def _fields(document: JsonMapping, operation: JsonMapping) -> Iterator[JsonDict]:
    """Return the fields of a body."""
    body = _body(document, operation)
    for name, schema in body.get("properties", {}).items():
        yield _field(document, name, schema, required=name in body.get("required", ()))


def _body(document: JsonMapping, operation: JsonMapping) -> JsonMapping:
    """Return the schema of an operation's body; empty if it takes none."""
    if "requestBody" not in operation:
        return {}
    return _resolved(
        document, operation["requestBody"]["content"]["application/json"]["schema"]
    )


def _example(document: JsonMapping, operation: JsonMapping) -> JsonMapping | None:
    """Return the example of a body, in the order of its fields; None if there is no body."""
    body = _body(document, operation)
    if not body:
        return None
    (example,) = body["examples"]
    return {name: example[name] for name in body["properties"] if name in example}


def _field(
    document: JsonMapping, name: str, schema: JsonMapping, *, required: bool
) -> JsonDict:
    description = schema.get("description", "")
    return {
        "name": name,
        "type": _type(document, schema),
        "required": required,
        "description": description,
    }


def _type(document: JsonMapping, schema: JsonMapping) -> str:
    schema = _resolved(document, schema)
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(_type(document, each) for each in schema["anyOf"])
        )
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(document, schema['items'])}"
    return str(
        schema.get("format") or schema.get("const") or schema.get("type") or "any JSON"
    )


def _resolved(document: JsonMapping, schema: JsonMapping) -> JsonMapping:
    if "$ref" not in schema:
        return schema
    resolved: JsonMapping = document["components"]["schemas"][
        schema["$ref"].rpartition("/")[2]
    ]
    return resolved
