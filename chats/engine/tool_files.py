"""Files in tool results: extracted and replaced by references, or by text if they cannot be kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_core import PydanticSerializationError

from approvals.text.file_references import reference_of
from approvals.text.translatable import Count
from chats.actions import attachments
from chats.agent.tools import File
from chats.models import Attachment
from chats.queries import file_parts


class ResultFiles:
    """The files of one result, not yet stored."""

    def __init__(self, tool_name: str, tool_call_id: str) -> None:
        self._tool_name = tool_name
        self._tool_call_id = tool_call_id
        self._files: dict[str, Attachment] = {}

    @property
    def rows(self) -> tuple[Attachment, ...]:
        return tuple(self._files.values())

    def take(self, value: Any) -> Any:
        """Return a file's replacement in JSON: a reference, or why it cannot be kept. Raise ValueError for anything else."""
        if not isinstance(value, File):
            raise PydanticSerializationError(
                f"Unable to serialize unknown type: {type(value)}"
            )
        file = attachments.new_file(value.content, value.name)
        kept = [
            *self._files.values(),
            *([file] if file.digest not in self._files else []),
        ]
        if not file.media_type:
            return words_for(
                self._tool_name,
                file.name,
                "It is not a PNG, JPEG, GIF, WebP or PDF file.",
            )
        if len(kept) > attachments.MAX_FILES:
            return words_for(
                self._tool_name,
                file.name,
                f"A result can have at most {attachments.MAX_FILES} files.",
            )
        if sum(each.size for each in kept) > attachments.MAX_BYTES:
            limit = f"The files of a result can have at most {Count(attachments.MAX_BYTES)} bytes together."
            return words_for(self._tool_name, file.name, limit)
        file.file_id = file_parts.result_file_id(self._tool_call_id, file.digest)
        return file_parts.result_file(self._files.setdefault(file.digest, file))


def without_references(
    output: Any, tool_name: str, rows: Iterable[Attachment], problem: str
) -> Any:
    """Return an output with text placeholders for the references to these files."""
    file_ids = {row.file_id for row in rows}

    def replace_references(value: Any) -> Any:
        if isinstance(value, list):
            return [replace_references(each) for each in value]
        if not isinstance(value, dict):
            return value
        reference = reference_of(value)
        if reference is not None and reference.file_id in file_ids:
            return words_for(tool_name, reference.name, problem)
        return {name: replace_references(each) for name, each in value.items()}

    return replace_references(output)


def words_for(tool_name: str, name: str, problem: str) -> str:
    """Return the text placeholder for a file in a result."""
    return f"{tool_name} ran, but its file {f'{name} ' if name else ''}cannot be kept: {problem}"
