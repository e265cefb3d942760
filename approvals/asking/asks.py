"""A request before it is stored: a frozen value that checks its own bounds and counts its words to read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext as _

from approvals.addresses import RefusedAddress, parse_destination
from approvals.asking import answered_files, attachments, titles, transcripts
from approvals.asking.answers import ABSENT, to_choice
from approvals.asking.attachments import NewFile
from approvals.db.canonical_json import MAX_VALUES, NotCanonical, canonical
from approvals.exceptions import Invalid
from approvals.json_types import JsonMapping
from approvals.models.attachments import AttachedFile
from approvals.schema.check import schema_errors, schema_problem
from approvals.states import ASKS, Kind, Priority
from approvals.text.names import tool_name_problem
from approvals.text.numbers import grouped
from approvals.text.text import visible
from approvals.text.translation import translated

MAX_TITLE = titles.MAX_TITLE
MAX_MESSAGE = 20_000
MAX_OPTIONS = 100
MAX_SUGGESTIONS = 50
MAX_LABEL = 500
#: Latest year of a deadline; later ones cannot be shown in every time zone.
LAST_YEAR = 9000
#: Column lengths, which PostgreSQL enforces and SQLite does not.
MAX_LENGTHS = {
    "tool_name": 100,
    "tool_call_id": 200,
    "field_name": 100,
    "source_url": 500,
    "callback_url": 500,
}
#: The fields that are stored as they are, so that their texts and JSON have to be valid.
JSON_FIELDS = (
    "title",
    "message",
    "input",
    "options",
    "suggestions",
    "context",
    "said_before",
    "step_path",
    "default_response",
    "response_schema",
    *MAX_LENGTHS,
)

URGENCY = {Priority.CRITICAL: 0, Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 3}


def most_urgent(first: str, second: str) -> Priority:
    """Return the more urgent of two priorities; the second may be empty."""
    priorities = [Priority(name) for name in (first, second) if name]
    return min(priorities, key=lambda priority: URGENCY[priority])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The fields of a new `ApprovalRequest` that never change.

    `options` are `{"label", "id"?, "description"?}` objects. `response_schema` is the JSON Schema (2020-12) of an answer or an
    edited input. `default_response` becomes the answer at the deadline; approvals have none, because they are rejected then.
    `said_before` is the conversation before the request (`approvals.asking.transcripts`). `assigned_to` is the user named by the
    client; an unknown name becomes AnonymousUser, which is refused. `trace` is the context in which the client asks
    (`approvals.trace_context`).
    """

    kind: Kind
    title: str
    message: str = ""
    tool_name: str = ""
    tool_call_id: str | None = None
    attempt: int = 1
    input: JsonMapping = field(default_factory=dict)
    response_schema: JsonMapping | None = None
    options: Sequence[JsonMapping] = ()
    multiple: bool = False
    allow_text: bool = False
    field_name: str = ""
    suggestions: Sequence[str] = ()
    context: Any = None
    said_before: Sequence[JsonMapping] = ()
    priority: Priority = Priority.NORMAL
    deadline_at: datetime | None = None
    default_response: Any = ABSENT
    step_path: Sequence[str] = ()
    source_url: str = ""
    callback_url: str = ""
    callback: JsonMapping | None = None
    assigned_to: User | AnonymousUser | None = None
    attachments: Sequence[NewFile] = ()
    trace: Mapping[str, str] | None = None

    @property
    def files(self) -> list[AttachedFile]:
        """Metadata of its files."""
        return [file.known for file in self.attachments]

    @property
    def stored_title(self) -> str:
        """The title with its invisible characters made visible, because it stands alone in mails and lists."""
        return visible(self.title)[:MAX_TITLE]

    @property
    def words(self) -> int:
        """The number of words to read. For a question only its text and options count: its input repeats them."""
        if self.kind in ASKS:
            offered = [
                option.get(name)
                for option in self.options
                for name in ("label", "description")
            ]
            return words_to_read(
                self.message or self.title, offered, list(self.suggestions)
            )
        return words_to_read(self.title, self.message, dict(self.input))

    def check(self) -> None:
        """Raise Invalid, naming every field that is out of bounds."""
        errors = dict(self._errors())
        if errors:
            raise Invalid(_("The request is invalid."), errors)

    def _errors(self) -> list[tuple[str, str]]:
        return (
            self._length_errors()
            + self._label_errors()
            + self._end_errors()
            + self._file_errors()
            + self._json_errors()
            + self._schema_errors()
            + self._choice_errors()
        )

    def _length_errors(self) -> list[tuple[str, str]]:
        errors = []
        if not 1 <= len(self.title) <= MAX_TITLE:
            words = _("must have 1 to %(limit)s characters")
            errors.append(("title", words % {"limit": MAX_TITLE}))
        if len(self.message) > MAX_MESSAGE:
            errors.append(("message", _too_long(grouped(MAX_MESSAGE))))
        for name, limit in MAX_LENGTHS.items():
            if len(getattr(self, name) or "") > limit:
                errors.append((name, _too_long(limit)))
        if problem := tool_name_problem(self.tool_name):
            errors.append(("tool_name", problem))
        if len(self.options) > MAX_OPTIONS:
            errors.append(("options", _too_many(MAX_OPTIONS)))
        if len(self.suggestions) > MAX_SUGGESTIONS:
            errors.append(("suggestions", _too_many(MAX_SUGGESTIONS)))
        return errors

    def _label_errors(self) -> list[tuple[str, str]]:
        labels = [option.get("label") for option in self.options]
        labels += self.suggestions
        if all(isinstance(each, str) and len(each) <= MAX_LABEL for each in labels):
            return []
        words = _("every label must be text of at most %(limit)s characters")
        return [("options", words % {"limit": MAX_LABEL})]

    def _end_errors(self) -> list[tuple[str, str]]:
        """Return the errors of what happens at the end: the callback, the default and the deadline."""
        errors = []
        if self.callback_url:
            private = settings.HITL_WEBHOOK_ALLOW_PRIVATE
            try:
                parse_destination(self.callback_url, allow_private=private)
            except RefusedAddress as error:
                errors.append(("callback_url", str(error)))
        if self.kind == Kind.APPROVAL and self.default_response is not ABSENT:
            words = _(
                "is not allowed for an approval, which is rejected at the deadline"
            )
            errors.append(("default_response", words))
        if self.deadline_at is not None and self.deadline_at.year > LAST_YEAR:
            words = _("is too far away; leave it out for a request that never expires")
            errors.append(("deadline", words))
        return errors

    def _file_errors(self) -> list[tuple[str, str]]:
        errors = []
        if self.said_before and (problem := transcripts.problem(self.said_before)):
            errors.append(("said_before", problem))
        if self.attachments and (problem := attachments.problem(self.attachments)):
            errors.append(("attachments", problem))
        return errors

    @property
    def chooses(self) -> bool:
        """Whether the answer is a choice in the form of `approvals.asking.answers`, not in the client's own schema."""
        return (
            self.kind == Kind.QUESTION
            and bool(self.options)
            and self.response_schema is None
        )

    @property
    def default(self) -> Any:
        """The default response in stored form; a choice is converted. Raise Invalid."""
        value = self.default_response
        return to_choice(self, value) if self.chooses and value is not ABSENT else value

    def _json_errors(self) -> list[tuple[str, str]]:
        fields = {name: getattr(self, name) for name in JSON_FIELDS}
        values = {name: value for name, value in fields.items() if value is not ABSENT}
        # If the values are valid together, each one is.
        if not _json_error(values):
            return []
        return [
            (name, problem)
            for name, value in values.items()
            if (problem := _json_error(value))
        ]

    def _schema_errors(self) -> list[tuple[str, str]]:
        if self.response_schema is None:
            return []
        problem = schema_problem(self.response_schema)
        if not problem and self.kind in ASKS:
            problem = answered_files.schema_problem(self.response_schema, self.options)
        if problem:
            return [("response_schema", problem)]
        if self.kind in ASKS and answered_files.not_sent(
            self.response_schema, self.default_response, {}
        ):
            return [("default_response", _("cannot have a file"))]
        default = (
            {}
            if self.default_response is ABSENT
            else schema_errors(self.response_schema, self.default_response)
        )
        return [
            (f"default_response.{path}".rstrip("."), message)
            for path, message in default.items()
        ]

    def _choice_errors(self) -> list[tuple[str, str]]:
        # Options that are out of bounds are reported separately.
        offered = all(isinstance(option.get("label"), str) for option in self.options)
        if not self.chooses or not offered or self.default_response is ABSENT:
            return []
        try:
            to_choice(self, self.default_response)
        except Invalid as refusal:
            return [
                (name.replace("answer", "default_response", 1), text)
                for name, text in refusal.errors.items()
            ]
        return []


def _too_long(limit: int | str) -> str:
    return _("is longer than %(limit)s characters") % {"limit": limit}


def _too_many(limit: int) -> str:
    return _("has more than %(limit)s items") % {"limit": limit}


def _json_error(value: Any) -> str:
    """Return why this cannot be stored as JSON; empty if it can."""
    try:
        canonical(
            dict(value) if isinstance(value, Mapping) else value, max_values=MAX_VALUES
        )
    except NotCanonical as error:
        return translated(error)
    return ""


#: The speed of a fast reader.
WORDS_PER_SECOND = 4

_word = re.compile(r"\w+(?:[.,:'-]\w+)*")


def words_to_read(*texts: Any) -> int:
    """Return the number of words in texts and JSON values; names of members count, since they are shown."""
    count = 0
    left = list(texts)
    while left:
        item = left.pop()
        match item:
            case str():
                count += len(_word.findall(item))
            case dict():
                left += [*item, *item.values()]
            case list() | tuple():
                left += item
            case None:
                continue
            case _:
                count += 1
    return count
