"""How a request ended, read from a response: only an explicit approval counts as approved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .digests import input_digest
from .errors import NotUnderstood, mapping, member

#: The verdicts that approve, and the type of null.
APPROVING, NULL = ("approve", "edit"), type(None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. `document` is the whole response."""

    request_id: str
    #: `approved`, `rejected`, `answered`, `expired` or `cancelled`; after a vote that needs others, `pending`.
    status: str
    #: None if the deadline passed.
    by: str | None
    comment: str
    #: The answer to a question or form; the default if the deadline passed.
    answer: Any
    #: The input to run, as requested or as changed by a person. None unless approved.
    input: Mapping[str, Any] | None
    #: The digest of `input`, sent with the result.
    digest: str | None
    document: Mapping[str, Any] = field(repr=False)

    @property
    def approved(self) -> bool:
        return self.status == "approved" and not self.halted

    @property
    def edited(self) -> bool:
        """Whether it was approved with changes."""
        return bool(self._decision.get("verdict") == "edit")

    @property
    def verified(self) -> bool:
        """Whether `digest` is that of `input` with the files. Where anything is hidden from people, Pausepoint reveals this only
        to the key that asked: for other keys it is False then.
        """
        return self.input is not None and self.digest_of(self.input) == self.digest

    def digest_of(self, value: Mapping[str, Any]) -> str:
        """Return the digest of an input with the files of this request, as it would be approved. Raise ValueError."""
        files = self.document.get("attachments")
        known = [mapping(file) for file in files] if isinstance(files, list) else []
        return input_digest(value, known, self._decision.get("digest_salt"))

    @property
    def rule(self) -> str | None:
        """The name of the policy rule that decided it without asking; None otherwise."""
        rule = mapping(self._decision.get("rule"))
        return str(rule.get("name")) if rule else None

    @property
    def votes(self) -> Mapping[str, Any] | None:
        """The votes if several people decide it: `progress` in words, `stages`, `cast` and `proposal`."""
        votes = self.document.get("votes")
        return votes if isinstance(votes, Mapping) else None

    @property
    def timed_out(self) -> bool:
        return self.status == "expired"

    @property
    def halted(self) -> bool:
        """Whether the run has to stop, because no one decided in time and the policy says so."""
        return bool(self._decision.get("halted"))

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The reported result of the approved call: `state`, `output`, `error`. A call with a result must not run again."""
        result: Mapping[str, Any] | None = self.document.get("result")
        return result

    @property
    def _decision(self) -> Mapping[str, Any]:
        return mapping(self.document.get("decision"))


def outcome_of(document: Mapping[str, Any]) -> Outcome:
    """Return how a request ended. Raise NotUnderstood for a response of an unknown form."""
    status = member(document, "status", str)
    approved = status == "approved"
    made: Mapping[str, Any] = member(document, "decision", Mapping, NULL) or {}
    if (result := member(document, "result", Mapping, NULL)) is not None:
        member(result, "state", str)
    outcome = Outcome(
        request_id=member(document, "id", str),
        status=status,
        by=member(made, "by", str, NULL),
        comment=member(made, "comment", str, NULL) or "",
        answer=made.get("answer"),
        input=member(made, "approved_input", Mapping) if approved else None,
        digest=member(made, "approved_digest", str) if approved else None,
        document=document,
    )
    if approved and (made.get("verdict") not in APPROVING or outcome.halted):
        raise NotUnderstood(
            "The response says that the request is approved, and something else beside it."
        )
    return outcome
