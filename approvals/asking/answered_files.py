"""Files in answers to questions and forms: schema fields with `format: file`, and their values in answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals.asking.answers import Answer
from approvals.asking.attachments import NewFile, RefusedFile, checked_file, problem
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest
from approvals.models.attachments import AttachedFile, address_of
from approvals.schema.keywords import members
from approvals.text.file_types import ENDINGS

#: The format of a field for a file, and the keyword for its only allowed media type.
FILE = "file"
TYPE = "contentMediaType"
_SENT = {"name", "content"}


def file_fields(schema: Any) -> dict[str, JsonMapping]:
    """Return the file fields of a response schema, with their schemas."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return {
        name: field
        for name, field in (properties or {}).items()
        if isinstance(field, Mapping)
        and (field.get("type"), field.get("format")) == ("string", FILE)
    }


def schema_problem(schema: JsonMapping, options: Sequence[Any]) -> str:
    """Return why a question cannot have the file fields in its schema; empty if it can."""
    fields = file_fields(schema)
    if sum(member == ("format", FILE) for member in members(schema)) > len(fields) or (
        fields and options
    ):
        return _(
            "can ask for a file only in a property of the answer itself: a `string` with the format `file`"
        )
    unknown = [
        field[TYPE]
        for field in fields.values()
        if TYPE in field and field[TYPE] not in ENDINGS
    ]
    return (
        _("asks for a file of a type that is not accepted: %(type)s")
        % {"type": unknown[0][:100]}
        if unknown
        else ""
    )


def brings_files(answer: Answer) -> bool:
    """Return whether members of an answer look like new files; the schema decides if they are."""
    return isinstance(answer.answer, dict) and any(
        map(_is_sent, answer.answer.values())
    )


def _is_sent(value: Any) -> bool:
    named = isinstance(value, dict) and _SENT <= value.keys() <= {*_SENT, "media_type"}
    return named and all(isinstance(text, str) for text in value.values())


def take_files(request: ApprovalRequest, answer: Answer) -> Answer:
    """Check an answer's new files, and return the answer with their metadata in place of their content. Raise Invalid."""
    files = {}
    errors = {}
    for name, field in file_fields(request.response_schema).items():
        if _is_sent(sent := answer.answer.get(name)):
            try:
                files[name] = _checked(sent, field)
            except RefusedFile as error:
                errors[f"answer.{name}"] = str(error)
    if not errors and (too_much := problem(list(files.values()))):
        errors["answer"] = too_much
    if errors:
        raise Invalid(_("The answer is invalid."), errors)
    documents = {name: _document(request, file.known) for name, file in files.items()}
    return replace(answer, answer={**answer.answer, **documents}, files=files)


def _checked(sent: Mapping[str, str], field: JsonMapping) -> NewFile:
    file = checked_file(sent["name"], sent["content"], sent.get("media_type"))
    if file.known.media_type != field.get(TYPE, file.known.media_type):
        types = {"type": file.known.media_type, "wanted": field[TYPE]}
        raise RefusedFile(_("is %(type)s, and has to be %(wanted)s") % types)
    return file


def _document(request: ApprovalRequest, file: AttachedFile) -> JsonDict:
    return {
        "id": file.id,
        **file.approved,
        "url": settings.PUBLIC_URL + address_of(request.pk, file),
    }


def not_sent(schema: Any, answer: Any, files: Mapping[str, NewFile]) -> list[str]:
    """Return the file fields that an answer fills with anything but a file."""
    filled = answer if isinstance(answer, dict) else {}
    return [
        name for name in file_fields(schema) if name in filled and name not in files
    ]


def with_names(schema: Any, answer: Any) -> Any:
    """Return an answer with each file replaced by its name, as its schema describes it."""
    return _with_files(schema, answer, lambda file: file["name"])


def without_addresses(schema: Any, answer: Any) -> Any:
    """Return an answer with the metadata of its files, but without their ids and addresses."""
    return _with_files(
        schema,
        answer,
        lambda file: {k: v for k, v in file.items() if k not in {"id", "url"}},
    )


def _with_files(schema: Any, answer: Any, shown: Any) -> Any:
    if not isinstance(answer, dict):
        return answer
    files = {
        name: answer[name]
        for name in file_fields(schema)
        if _names_one(answer.get(name))
    }
    return {**answer, **{name: shown(file) for name, file in files.items()}}


def _names_one(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def files_of_answer(request: ApprovalRequest) -> list[AttachedFile]:
    """Return the files in the answer to a request, in schema order."""
    decision = getattr(request, "decision", None)
    return (
        []
        if decision is None
        else files_in_answer(request.response_schema, decision.answer)
    )


def files_in_answer(schema: Any, answer: Any) -> list[AttachedFile]:
    """Return the files in an answer, in the order of its schema."""
    members = answer if isinstance(answer, dict) else {}
    documents = [
        members[name] for name in file_fields(schema) if _names_one(members.get(name))
    ]
    return [
        AttachedFile(**{k: v for k, v in document.items() if k != "url"})
        for document in documents
    ]
