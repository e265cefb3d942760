"""Check events against the packaged schema of OCSF, and for contradictions, which it does not find."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

from approvals.record.ocsf import VERSION

OTHER = 99
#: The actions with which a disposition may stand; the schema says so in prose.
DISPOSITIONS = {1: {"Allowed", "Approved"}, 2: {"Blocked", "Rejected"}}


@functools.cache
def packaged() -> OcsfJsonSchemaEmbedded:
    return OcsfJsonSchemaEmbedded(get_ocsf_schema(VERSION))


@functools.cache
def validator(class_uid: int, profiles: tuple[str, ...]) -> Draft202012Validator:
    name = packaged().lookup_class_name_from_uid(class_uid)
    return Draft202012Validator(packaged().get_class_schema(name, list(profiles)))


def schema_problems(event: Mapping[str, Any]) -> list[str]:
    """What the packaged schema finds in an event, with the profiles that the event names."""
    check = validator(event["class_uid"], tuple(event["metadata"]["profiles"]))
    return [error.message for error in check.iter_errors(event)]


def contradictions(event: Mapping[str, Any]) -> list[str]:
    """What the members of an event say against each other, against the version, or against reason."""
    return list(_contradictions(event))


def _contradictions(event: Mapping[str, Any]) -> Iterator[str]:
    definition = packaged().schema.schema["classes"][packaged().lookup_class_name_from_uid(event["class_uid"])]
    metadata = event["metadata"]
    if metadata["version"] != VERSION:
        yield "version"
    if event["type_uid"] != event["class_uid"] * 100 + event["activity_id"]:
        yield "type_uid"
    if event["category_uid"] != event["class_uid"] // 1000:
        yield "category_uid"
    for name, caption in (("class_name", definition["caption"]), ("category_name", definition["category_name"])):
        if event[name] != caption:
            yield name
    if event["type_name"] != definition["attributes"]["type_uid"]["enum"][str(event["type_uid"])]["caption"]:
        yield "type_name"
    if event["time"] != _milliseconds(metadata["original_time"]):
        yield "time"
    if {"Allowed", "Blocked", "Approved", "Rejected"} & {event.get("disposition")} and event[
        "disposition"
    ] not in DISPOSITIONS.get(event.get("action_id", 0), set()):
        yield "disposition"
    for text in _empty_texts(event):
        yield f"empty {text}"
    for part in _objects(event, definition):
        yield from _wrong_captions(*part)
    for endpoint in (event.get("src_endpoint", {}), event.get("dst_endpoint", {})):
        if "ip" in endpoint and not _is_address(endpoint["ip"]):
            yield "ip"
    for observable in event.get("observables", ()):
        if _at(event, observable["name"]) != observable["value"]:
            yield "observable"


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return moment.days * 86_400_000 + moment.seconds * 1000 + moment.microseconds // 1000


def _objects(value: Any, definition: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Every object of an event with its definition; `unmapped` has none."""
    yield value, definition
    for name, attribute in definition["attributes"].items():
        if name in value and attribute.get("object_type", "object") != "object":
            below = packaged().schema.schema["objects"][attribute["object_type"]]
            for each in value[name] if attribute.get("is_array") else [value[name]]:
                yield from _objects(each, below)


def _wrong_captions(value: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    for name, attribute in definition["attributes"].items():
        sibling = attribute.get("sibling")
        if sibling is None or name not in value or "enum" not in attribute or name == "type_uid":
            continue
        if value[name] == OTHER and not value.get(sibling):
            yield f"{sibling} is missing"
        if (
            value[name] != OTHER
            and sibling in value
            and value[sibling] != attribute["enum"][str(value[name])]["caption"]
        ):
            yield sibling


def _empty_texts(event: Mapping[str, Any]) -> Iterator[str]:
    for name, value in event.items():
        if name == "unmapped":
            continue
        if value in ("", [], {}):
            yield name
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping):
                yield from _empty_texts(part)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _at(event: Any, path: str) -> Any:
    for name in path.split("."):
        event = event[name]
    return event
