"""A call that needs approval, and people's decision about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pausepoint import calls, leases
from pausepoint.calls import ToolCall
from pausepoint.desk import Asked, Outcome
from pausepoint.leases import Lease


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call as a request. `schema` is the JSON Schema of its input: people edit the input in a form that validates it."""

    call: ToolCall
    question: bool
    extra: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        return self.call.question_title if self.question else self.call.title

    @property
    def fields(self) -> Asked:
        fields = self.call.question() if self.question else self.call.approval()
        if self.schema and not self.question:
            fields["response_schema"] = self.schema
        return {**fields, **self.extra}  # type: ignore[typeddict-item]


@dataclass(frozen=True, slots=True)
class Ruling:
    """People's decision about a call, and the call's result, if it has run.

    `earlier` are approvals of runs that ended without a result. A call with a `lease` runs in no other process meanwhile.
    """

    outcome: Outcome
    question: bool
    earlier: tuple[Outcome, ...] = ()
    lease: Lease | None = None

    @property
    def runs(self) -> bool:
        return (
            not self.question and self.outcome.approved and self.outcome.result is None
        )

    @property
    def input(self) -> dict[str, Any]:
        """The input to run: as requested, or as changed by a person."""
        return dict(self.outcome.input or {})

    @property
    def note(self) -> str:
        """The note for the model beside the result of the call; empty if there is nothing to add."""
        if not self.outcome.approved:
            return ""
        return "\n".join(filter(None, map(calls.note, (*self.earlier, self.outcome))))

    @property
    def succeeded(self) -> bool:
        """Whether a call that does not run has a result: the answer to a question, or the result of an earlier run."""
        if self.question:
            return self.outcome.answer is not None
        return (
            self.outcome.result is not None
            and self.outcome.result.get("state") == "succeeded"
        )

    @property
    def output(self) -> Any:
        """The result of a call that does not run, or why there is none, without the note."""
        if self.question:
            return calls.answer_text(self.outcome)
        if not self.outcome.approved or self.outcome.result is None:
            refusal = calls.refusal(self.outcome)
            return f"{leases.UNKNOWN} {refusal}" if self.earlier else refusal
        return (
            self.outcome.result.get("output")
            if self.succeeded
            else calls.known_result(self.outcome.result)
        )

    @property
    def text(self) -> str:
        """`output` as text for the model, with the note."""
        return self.noted(calls.output_text(self.output))

    def noted(self, text: str) -> str:
        """Return the result of the call with the note: the model may otherwise misreport the executed input."""
        return f"{self.note}\n\n{text}" if self.note else text
