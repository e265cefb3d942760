"""Files that people send with a message, and files that tools return: validation and storage."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals.text.file_references import file_id_of, references_in
from approvals.text.file_types import media_type_of, readable_name
from approvals.text.numbers import grouped
from chats.exceptions import BadFile
from chats.models import Attachment, Chat
from chats.queries import file_parts

#: Limits: files in one message, their total bytes, and the bytes of all files in one chat, which are all resent to the model.
MAX_FILES = 5
MAX_BYTES = 5_000_000
MAX_CHAT_BYTES = 20_000_000
DATA_URL = re.compile(r"data:[\w.+/-]*(?:;[\w-]+=[\w.-]+)*;base64,")


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that came with a message: its content, or the id of a file that the chat already has."""

    name: str
    content: bytes = b""
    file_id: uuid.UUID | None = None


def checked_file(url: str, name: str) -> SentFile:
    """Return the file of a `file` part: a data URL, or the address of a stored file. Nothing is loaded. Raise BadFile."""
    if (file_id := file_id_of(url)) is not None:
        return SentFile(name, file_id=file_id)
    match = DATA_URL.match(url)
    if match is None:
        raise BadFile(
            _(
                "must have a data: URL with base64, because files are not loaded from elsewhere"
            )
        )
    try:
        content = base64.b64decode(url[match.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise BadFile(_("is not valid base64")) from None
    if not media_type_of(content):
        raise BadFile(_("is not a PNG, JPEG, GIF, WebP or PDF file"))
    return SentFile(name, content)


def store_files(chat: Chat, files: Sequence[SentFile]) -> list[dict[str, Any]]:
    """Store the files of a new message and return their parts. The caller has locked the chat. Raise BadFile."""
    if not files:
        return []
    if len(files) > MAX_FILES:
        raise BadFile(
            _("A message can have at most %(limit)s files.") % {"limit": MAX_FILES}
        )
    known = _known(chat)
    for file in files:
        if file.file_id is not None and file.file_id not in known:
            raise BadFile(_("This chat has no such file. Send it again."))
    _check_sizes(chat, files, known)
    return [file_parts.file_part(_store(chat, file, known)) for file in files]


def new_file(content: bytes, name: str) -> Attachment:
    """Return a file that is not yet stored; its media type is "" if it is not accepted."""
    return Attachment(
        media_type=media_type_of(content),
        name=readable_name(name),
        size=len(content),
        digest=f"sha256:{hashlib.sha256(content).hexdigest()}",
        content=content,
    )


def keep_files(chat: Chat, files: Sequence[Attachment]) -> None:
    """Store the files of a tool's result, in the result's transaction. Raise BadFile if the chat has no room."""
    if not files:
        return
    _check_room(chat, sum(file.size for file in files), _known(chat))
    for file in files:
        # The transaction of an earlier try may have given it a key.
        file.pk = None
        file.chat = chat
        file.save(force_insert=True)


def copy_files(source: Chat, branch: Chat) -> None:
    """Copy the files of a chat that a branch's messages and call results refer to."""
    stored = set(_rows(source).values_list("file_id", flat=True))
    if not stored:
        return
    messages = branch.messages.filter(role="user").values_list("parts", flat=True)
    named = {file_id for parts in messages for file_id in file_parts.file_ids(parts)}
    for output in (
        branch.tool_calls.exclude(output__isnull=True)
        .values_list("output", flat=True)
        .iterator()
    ):
        named |= {reference.file_id for reference in references_in(output)}
    for file_id in stored & named:
        # One at a time, because each may have megabytes.
        row = Attachment.objects.get(chat=source, file_id=file_id)
        row.pk = None
        row.chat = branch
        row.save(force_insert=True)


def _rows(chat: Chat) -> Any:
    return Attachment.objects.filter(chat=chat).defer("content")


def _known(chat: Chat) -> dict[uuid.UUID, Attachment]:
    return {row.file_id: row for row in _rows(chat)}


def _check_sizes(
    chat: Chat, files: Sequence[SentFile], known: dict[uuid.UUID, Attachment]
) -> None:
    """Enforce the limits on files for the model. A stored file counts each time that a message names it. Raise BadFile."""
    size = sum(
        len(file.content) if file.file_id is None else known[file.file_id].size
        for file in files
    )
    if size > MAX_BYTES:
        message = _(
            "The files of a message can have at most %(limit)s bytes together. These have %(size)s."
        )
        raise BadFile(message % {"limit": grouped(MAX_BYTES), "size": grouped(size)})
    _check_room(chat, size, known)


def _check_room(chat: Chat, size: int, known: dict[uuid.UUID, Attachment]) -> None:
    """Enforce the limit on bytes for the model, including files named by messages and returned by tools. Raise BadFile."""
    messages = (
        chat.shown.filter(role="user").values_list("parts", flat=True) if known else ()
    )
    sent = [
        known[file_id]
        for parts in messages
        for file_id in file_parts.file_ids(parts)
        if file_id in known
    ]
    sent += [row for row in known.values() if file_parts.is_of_result(row.file_id)]
    if sum(row.size for row in sent) + size > MAX_CHAT_BYTES:
        message = _(
            "The files of a chat can have at most %(limit)s bytes together. Start a new chat."
        )
        raise BadFile(message % {"limit": grouped(MAX_CHAT_BYTES)})


def _store(
    chat: Chat, file: SentFile, known: dict[uuid.UUID, Attachment]
) -> Attachment:
    if file.file_id is not None:
        return known[file.file_id]
    row = new_file(file.content, file.name)
    if not row.media_type:
        raise BadFile(
            _("%(name)s is not a PNG, JPEG, GIF, WebP or PDF file.")
            % {"name": row.name or _("A file")}
        )
    row.chat = chat
    row.save(force_insert=True)
    return row
