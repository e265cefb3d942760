"""The arguments of the tools, and the requests made from them, in terms of the REST API."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from approvals.api.bodies import WHOLE, Document
from approvals.api.outcomes import MAX_ERROR
from approvals.api.requests import MAX_TIMEOUT, Attachments, Label, NewRequest, Option
from approvals.asking.asks import MAX_MESSAGE, MAX_OPTIONS
from approvals.asking.titles import title_and_message
from approvals.json_types import JsonDict

Timeout = Annotated[
    StrictInt,
    Field(
        ge=0,
        le=MAX_TIMEOUT // 1000,
        description="Seconds until the request expires; 0 if never.",
    ),
    WHOLE,
]
Input = Annotated[JsonDict, Field(description="The exact input that would run.")]

#: Seconds that a call of a patient tool (`permission`) waits, because Claude Code cannot express "not yet".
PATIENCE = 3600
#: Seconds after which its request expires: before the call ends, so that no one approves an abandoned call.
EXPIRY = PATIENCE - 10

#: An action of this form is the name of a tool; people filter and compare by it.
_NAME = re.compile(r"[\w.:/-]{1,100}")
_PRIORITIES: dict[str, Literal["low", "normal", "high", "critical"]] = {
    "low": "low",
    "medium": "normal",
    "high": "high",
    "critical": "critical",
}


class AskHuman(Document):
    question: Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE)]
    """What you want to know. Markdown."""
    options: list[Label | Option] = Field(default_factory=list, max_length=MAX_OPTIONS)
    """Answers to choose from. The person may also answer in their own words."""
    multiple: StrictBool = False
    """Whether more than one option may be chosen."""
    response_schema: JsonDict | None = None
    """A JSON Schema (2020-12) that the answer must match; the person fills in a form."""
    context: Any = None
    """Anything that helps the person to answer."""
    priority: Literal["low", "normal", "high", "critical"] = "normal"
    """How urgent it is."""
    timeout_seconds: Timeout = 0
    attachments: Attachments = Field(default_factory=list)

    def request(self) -> NewRequest:
        title, message = title_and_message(self.question)
        options = [
            Option(label=option) if isinstance(option, str) else option
            for option in self.options
        ]
        return NewRequest(
            kind="question" if self.response_schema is None else "form",
            title=title,
            message=message,
            options=options,
            multiple=self.multiple,
            allow_text=bool(options),
            response_schema=self.response_schema,
            context=self.context,
            priority=self.priority,
            timeout=self.timeout_seconds * 1000,
            attachments=self.attachments,
        )


class RequestApproval(Document):
    action: Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE)]
    """The action: the name of a tool or command, or a sentence."""
    input: Input
    reason: Annotated[str, Field(max_length=MAX_MESSAGE)] = ""
    """Why it should run. Markdown."""
    risk: Literal["low", "medium", "high", "critical"] = "medium"
    """What could go wrong. A critical request is confirmed by typing."""
    timeout_seconds: Timeout = 0
    attachments: Attachments = Field(default_factory=list)

    def request(self) -> NewRequest:
        named = _NAME.fullmatch(self.action) is not None
        title, whole = (
            (f"Run {self.action}?", "") if named else title_and_message(self.action)
        )
        return NewRequest(
            kind="approval",
            title=title,
            message="\n\n".join(filter(None, (whole, self.reason))),
            tool_name=self.action if named else "",
            input=self.input,
            priority=_PRIORITIES[self.risk],
            timeout=self.timeout_seconds * 1000,
            attachments=self.attachments,
        )


class CheckRequest(Document):
    request_id: UUID
    """The `request_id` of an earlier result."""


class ReportResult(Document):
    request_id: UUID
    """The `request_id` of the approved request."""
    output: Any = None
    """The output, if it succeeded."""
    error: Annotated[str, Field(min_length=1, max_length=MAX_ERROR)] | None = None
    """The error, if it failed."""
    input: JsonDict | None = None
    """The input that ran, to compare with the approved one. If left out, the approved input is assumed."""


class Permission(BaseModel):
    """The arguments of Claude Code's `--permission-prompt-tool`; it may send more in later versions."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    tool_name: Annotated[str, Field(min_length=1, max_length=100)]
    """The tool that would run."""
    input: Input
    tool_use_id: Annotated[str, Field(min_length=1, max_length=200)]
    """The id of the call."""

    def request(self) -> NewRequest:
        return NewRequest(
            kind="approval",
            title=f"Run {self.tool_name}?",
            tool_name=self.tool_name,
            tool_call_id=self.tool_use_id,
            input=self.input,
            timeout=EXPIRY * 1000,
        )
