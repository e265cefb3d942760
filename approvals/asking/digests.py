"""Digests of inputs: one that people and programs compare, and a keyed one with which the server finds equal inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.crypto import keyed_digests
from approvals.db.canonical_json import MAX_BYTES, MAX_DEPTH, canonical
from approvals.json_types import JsonMapping
from approvals.models import ApprovalRequest, Decision
from approvals.models.attachments import AttachedFile, files_of
from approvals.policy.grants import fields_of
from approvals.states import Width
from approvals.text.secrets import masked

#: Length of a salt in hexadecimal digits.
DIGITS = 32


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of an input, and the salt in the hashed text: empty or None without one."""

    text: str
    salt: str | None


def digest_for(
    request: ApprovalRequest, value: JsonMapping, decided: Decision | None = None
) -> Digest:
    """Return the digest of an input of a stored request, such as a changed one, together with the request's files.

    With the request's decision, the digest is comparable with the approved one.
    """
    salt = (request if decided is None else decided).digest_salt or ""
    if not salt:
        # People may add secret values to an input too.
        salt = _salt_for(request.pk, value, request.secrets or ())
    return Digest(
        input_digest(
            value, [file.approved for file in files_of(request.attachments)], salt
        ),
        salt,
    )


def _salt_for(request_id: UUID, value: JsonMapping, secrets: Sequence[str]) -> str:
    """Return the salt of an input that is shown with masks; empty if all of it is shown."""
    shown = dict(value)
    return "" if masked(shown, secrets) is shown else salt_of(str(request_id))


def salt_of(subject: str) -> str:
    """Return a salt that cannot be computed without SECRET_KEY. It is stable for a subject until SECRET_KEY changes."""
    return keyed_digests("approvals.digest-salt", subject.encode())[0][:DIGITS]


def fingerprints(text: bytes) -> tuple[str, ...]:
    """Return keyed digests that identify equal inputs with equal files: the first is stored, the others are of former keys.

    `text` is the unsalted text. They cannot be computed without SECRET_KEY, and must not be shown to anyone.
    """
    return keyed_digests("approvals.input-fingerprint", text)


def fingerprints_of(request: ApprovalRequest) -> tuple[str, ...]:
    """Return the fingerprints of a stored request's input, as it is decided now, under the current keys."""
    return fingerprints(text_of(request.voted_input, files_of(request.attachments)))


def text_of(value: JsonMapping, files: Sequence[AttachedFile]) -> bytes:
    """Return the unsalted text of an input with its files."""
    return input_text(value, [file.approved for file in files])


def digest_of_new(request: ApprovalRequest, text: bytes, shown: Any) -> Digest:
    """Return the digest of a new request's input. `text` is its unsalted text, `shown` the input as displayed, with masks."""
    if shown is request.input:
        return Digest(digest_of_text(text), "")
    salt = salt_of(str(request.pk))
    return Digest(
        input_digest(
            request.input,
            [file.approved for file in files_of(request.attachments)],
            salt,
        ),
        salt,
    )


def grant_target(
    width: Width, fingerprint: str, fields: Sequence[JsonMapping] | None
) -> str:
    """Return the stored target of a grant of this width, which identifies the covered inputs; empty for any input of the tool."""
    if width == Width.INPUT:
        return fingerprint
    return _of_fields(fields or ())[0] if width == Width.FIELDS else ""


def grant_targets(
    value: JsonMapping,
    exact: Sequence[str],
    key_fields: Sequence[str],
    *,
    has_files: bool,
) -> list[str]:
    """Return the targets of all grants that can cover an input with these fingerprints; with files only the exact one."""
    if has_files:
        return list(exact)
    fields = fields_of(value, key_fields)
    return [*exact, *(() if fields is None else _of_fields(fields)), ""]


def _of_fields(fields: Sequence[JsonMapping]) -> tuple[str, ...]:
    return keyed_digests("approvals.key-fields-fingerprint", canonical(list(fields)))


#: Version member of the hashed text. Texts of other formats or purposes have another value, so their digests never coincide.
VERSION = "pausepoint.input.1"


def input_text(
    value: Any, files: Sequence[JsonMapping] = (), salt: str | None = ""
) -> bytes:
    """Return the text to hash. Input and files are separate members, so that no input can imitate files."""
    text = {
        "version": VERSION,
        "input": dict(value) if isinstance(value, Mapping) else value,
        "attachments": list(files),
        "salt": salt or None,
    }
    return canonical(text, max_depth=MAX_DEPTH + 1, max_bytes=2 * MAX_BYTES)


def input_digest(
    value: Any, files: Sequence[JsonMapping] = (), salt: str | None = ""
) -> str:
    """Return `sha256:` and the hex digest of an input with its files. Raise NotCanonical.

    `salt` protects hidden values from brute force; it is empty or None where nothing is hidden.
    """
    return digest_of_text(input_text(value, files, salt))


def digest_of_text(text: bytes) -> str:
    """Return `sha256:` and the hex digest of a text."""
    return "sha256:" + hashlib.sha256(text).hexdigest()
