"""A request before it is stored: one frozen value that checks its own bounds."""

from __future__ import annotations

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
from approvals.asking.reading_time import words_to_read
from approvals.db.canonical_json import MAX_VALUES, NotCanonical, canonical
from approvals.exceptions import Invalid
from approvals.models.attachments import AttachedFile
from approvals.schema.check import schema_errors, schema_problem
from approvals.states import ASKS, Kind, Priority
from approvals.text.confusables import tool_name_problem
from approvals.text.numbers import grouped
from approvals.text.translation import translated

MAX_TITLE = titles.MAX_TITLE
MAX_MESSAGE = 20_000
MAX_OPTIONS = 100
MAX_SUGGESTIONS = 50
MAX_LABEL = 500
#: The last year of a deadline: a little more could not be shown in every time zone.
LAST_YEAR = 9000
#: Lengths of columns, which PostgreSQL enforces and SQLite does not.
MAX_LENGTHS = {"tool_name": 100, "tool_call_id": 200, "field_name": 100, "source_url": 500, "callback_url": 500}

URGENCY = {Priority.CRITICAL: 0, Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 3}


def most_urgent(first: str, second: str) -> Priority:
    """Return the more urgent of two priorities, of which the second may be empty."""
    priorities = [Priority(name) for name in (first, second) if name]
    return min(priorities, key=lambda priority: URGENCY[priority])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked of a person: the fields of `ApprovalRequest` that never change.

    `options` are `{"label", "id"?, "description"?}` objects. `response_schema` is the JSON Schema (2020-12) that an
    answer, or an edited input, has to meet. `default_response` becomes the answer at the deadline; an approval has
    none, because it is rejected then. `said_before` is the conversation before the request
    (`approvals.asking.transcripts`). `assigned_to` is the user whom the client named; AnonymousUser, who is refused, if
    there is none of that name.
    """

    kind: Kind
    title: str
    message: str = ""
    tool_name: str = ""
    tool_call_id: str | None = None
    attempt: int = 1
    input: Mapping[str, Any] = field(default_factory=dict)
    response_schema: Mapping[str, Any] | None = None
    options: Sequence[Mapping[str, Any]] = ()
    multiple: bool = False
    allow_text: bool = False
    field_name: str = ""
    suggestions: Sequence[str] = ()
    context: Any = None
    said_before: Sequence[Mapping[str, Any]] = ()
    priority: Priority = Priority.NORMAL
    deadline_at: datetime | None = None
    default_response: Any = ABSENT
    step_path: Sequence[str] = ()
    source_url: str = ""
    callback_url: str = ""
    assigned_to: User | AnonymousUser | None = None
    attachments: Sequence[NewFile] = ()

    @property
    def files(self) -> list[AttachedFile]:
        """What is known of its files."""
        return [file.known for file in self.attachments]

    @property
    def words(self) -> int:
        """How many words there are to read. Of a question only its text and options: its input repeats them."""
        if self.kind in ASKS:
            offered = [option.get(name) for option in self.options for name in ("label", "description")]
            return words_to_read(self.message or self.title, offered, list(self.suggestions))
        return words_to_read(self.title, self.message, dict(self.input))

    def check(self) -> None:
        """Raise Invalid, naming every field that is out of bounds."""
        errors = dict(self._errors())
        if errors:
            raise Invalid(_("The request is invalid."), errors)

    def _errors(self) -> list[tuple[str, str]]:
        errors = []
        if not 1 <= len(self.title) <= MAX_TITLE:
            errors.append(("title", _("must have 1 to %(limit)s characters") % {"limit": MAX_TITLE}))
        if len(self.message) > MAX_MESSAGE:
            errors.append(("message", _("is longer than %(limit)s characters") % {"limit": grouped(MAX_MESSAGE)}))
        for name, limit in MAX_LENGTHS.items():
            if len(getattr(self, name) or "") > limit:
                errors.append((name, _("is longer than %(limit)s characters") % {"limit": limit}))
        if problem := tool_name_problem(self.tool_name):
            errors.append(("tool_name", problem))
        if len(self.options) > MAX_OPTIONS:
            errors.append(("options", _("has more than %(limit)s items") % {"limit": MAX_OPTIONS}))
        if len(self.suggestions) > MAX_SUGGESTIONS:
            errors.append(("suggestions", _("has more than %(limit)s items") % {"limit": MAX_SUGGESTIONS}))
        labels = [option.get("label") for option in self.options] + list(self.suggestions)
        if any(not isinstance(label, str) or len(label) > MAX_LABEL for label in labels):
            errors.append(
                ("options", _("every label must be text of at most %(limit)s characters") % {"limit": MAX_LABEL})
            )
        if self.callback_url:
            try:
                parse_destination(self.callback_url, allow_private=settings.HITL_WEBHOOK_ALLOW_PRIVATE)
            except RefusedAddress as error:
                errors.append(("callback_url", str(error)))
        if self.kind == Kind.APPROVAL and self.default_response is not ABSENT:
            errors.append(("default_response", _("is not allowed for an approval, which is rejected at the deadline")))
        if self.deadline_at is not None and self.deadline_at.year > LAST_YEAR:
            errors.append(("deadline", _("is too far away; leave it out for a request that never expires")))
        if self.said_before and (problem := transcripts.problem(self.said_before)):
            errors.append(("said_before", problem))
        if self.attachments and (problem := attachments.problem(self.attachments)):
            errors.append(("attachments", problem))
        return errors + self._json_errors() + self._schema_errors() + self._choice_errors()

    @property
    def chooses(self) -> bool:
        """Whether the answer is a choice in the shape of `approvals.asking.answers`, not in the client's own schema."""
        return self.kind == Kind.QUESTION and bool(self.options) and self.response_schema is None

    @property
    def default(self) -> Any:
        """The default response as it is stored: a choice in its shape. Invalid."""
        value = self.default_response
        return to_choice(self, value) if self.chooses and value is not ABSENT else value

    def _json_errors(self) -> list[tuple[str, str]]:
        names = ("title", "message", "input", "options", "suggestions", "context", "said_before", "step_path",
                 "default_response", "response_schema", *MAX_LENGTHS)  # fmt: skip
        values = {name: value for name in names if (value := getattr(self, name)) is not ABSENT}
        # What holds for all together holds for each.
        if not _json_error(values):
            return []
        return [(name, problem) for name, value in values.items() if (problem := _json_error(value))]

    def _schema_errors(self) -> list[tuple[str, str]]:
        if self.response_schema is None:
            return []
        problem = schema_problem(self.response_schema)
        if not problem and self.kind in ASKS:
            problem = answered_files.schema_problem(self.response_schema, self.options)
        if problem:
            return [("response_schema", problem)]
        if self.kind in ASKS and answered_files.not_sent(self.response_schema, self.default_response, {}):
            return [("default_response", _("cannot have a file"))]
        default = {} if self.default_response is ABSENT else schema_errors(self.response_schema, self.default_response)
        return [(f"default_response.{path}".rstrip("."), message) for path, message in default.items()]

    def _choice_errors(self) -> list[tuple[str, str]]:
        # Options that are out of bounds are reported on their own.
        offered = all(isinstance(option.get("label"), str) for option in self.options)
        if not self.chooses or not offered or self.default_response is ABSENT:
            return []
        try:
            to_choice(self, self.default_response)
        except Invalid as refusal:
            return [(name.replace("answer", "default_response", 1), text) for name, text in refusal.errors.items()]
        return []


def _json_error(value: Any) -> str:
    """Return why this is no JSON value that can be stored; empty if it is one."""
    try:
        canonical(dict(value) if isinstance(value, Mapping) else value, max_values=MAX_VALUES)
    except NotCanonical as error:
        return translated(error)
    return ""
