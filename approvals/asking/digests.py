"""The digests of inputs: one for people and programs to compare, and one by which the desk finds equal inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.crypto import keyed_digests
from approvals.db.canonical_json import canonical
from approvals.db.input_digest import digest_of_text, input_digest, input_text
from approvals.models import ApprovalRequest, Decision
from approvals.models.attachments import AttachedFile, files_of
from approvals.policy.grants import fields_of
from approvals.states import Width
from approvals.text.secrets import masked

#: Hexadecimal digits of a salt.
DIGITS = 32


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of an input, and the salt in the hashed text: empty without one, None in the form from before salts."""

    text: str
    salt: str | None


def digest_for(request: ApprovalRequest, value: Mapping[str, Any], decided: Decision | None = None) -> Digest:
    """Return the digest of an input of a stored request, such as a changed one, with the request's files.

    With its decision, the digest can be compared with the approved one.
    """
    salt = request.digest_salt if decided is None else decided.digest_salt
    if salt == "":
        # What people add to an input can be secret too.
        salt = salt_for(request.pk, value, request.secrets or ())
    return Digest(input_digest(value, [file.approved for file in files_of(request)], salt), salt)


def salt_for(request_id: UUID, value: Mapping[str, Any], secrets: Sequence[str] = ()) -> str:
    """Return the salt of an input that people see with masks; empty if they see all of it."""
    shown = dict(value)
    return "" if masked(shown, secrets) is shown else salt_of(str(request_id))


def salt_of(subject: str) -> str:
    """Return a salt that no one can compute without SECRET_KEY; for the same subject the same one, until that changes."""
    return keyed_digests("approvals.digest-salt", subject.encode())[0][:DIGITS]


def fingerprints(text: bytes) -> tuple[str, ...]:
    """Return by what the desk knows equal inputs with equal files: the first is stored, the others are of former keys.

    `text` is their text without a salt. No one can compute them without SECRET_KEY, and they must be shown to no one.
    """
    return keyed_digests("approvals.input-fingerprint", text)


def fingerprints_of(request: ApprovalRequest) -> tuple[str, ...]:
    """Return the fingerprints of a stored request's input, by today's keys."""
    return fingerprints(text_of(request.input, files_of(request)))


def text_of(value: Mapping[str, Any], files: Sequence[AttachedFile]) -> bytes:
    """Return the text of an input with its files, without a salt."""
    return input_text(value, [file.approved for file in files])


def digest_of_new(request: ApprovalRequest, text: bytes, shown: Any) -> Digest:
    """Return the digest of the input of a new request: `text` is its text without a salt, `shown` what people see of it."""
    if shown is request.input:
        return Digest(digest_of_text(text), "")
    salt = salt_of(str(request.pk))
    return Digest(input_digest(request.input, [file.approved for file in files_of(request)], salt), salt)


def grant_target(width: Width, fingerprint: str, fields: Sequence[Mapping[str, Any]] | None) -> str:
    """Return by what a grant of this width knows what it covers; empty if that is any input of the tool."""
    if width == Width.INPUT:
        return fingerprint
    return _of_fields(fields or ())[0] if width == Width.FIELDS else ""


def grant_targets(
    value: Mapping[str, Any], exact: Sequence[str], key_fields: Sequence[str], *, has_files: bool
) -> list[str]:
    """Return the targets of all grants that can cover an input with these fingerprints; with files only its own."""
    if has_files:
        return list(exact)
    fields = fields_of(value, key_fields)
    return [*exact, *(() if fields is None else _of_fields(fields)), ""]


def _of_fields(fields: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return keyed_digests("approvals.key-fields-fingerprint", canonical(list(fields)))
