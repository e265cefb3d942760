"""Add texts to the full-text index of requests, in the transaction that stores them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from approvals.actions import rows
from approvals.asking.secrets import masked_input
from approvals.models import ApprovalRequest, Decision
from approvals.queries.search_words import words_to_index
from approvals.text.secrets import masked

#: Characters that an answer or a comment may add.
MAX_ADDED = 20_000


def index_decision(request: ApprovalRequest, decision: Decision) -> None:
    """Index the texts of a decision under its request."""
    values = (decision.comment, decision.answer, decision.edited_input)
    add_words(decision.request_id, *(masked_input(request, value) for value in values))


def index_result(request: ApprovalRequest, *texts: object) -> None:
    """Index what a call returned under its request. Much of it is often in the input, which is indexed already."""
    known = words_to_index(masked_input(request, request.input))
    # Of a long input, not all words may be indexed.
    words = (masked_input(request, text) for text in texts)
    add_words(request.pk, *words, known=known.split(" ") if len(known) <= MAX_ADDED else ())


def add_words(request_id: UUID, *texts: object, known: Iterable[str] = ()) -> None:
    """Index more texts or JSON values under a request, without the words that are `known` to be there."""
    words = words_to_index(*map(masked, texts), limit=MAX_ADDED)
    if known:
        there = set(known)
        words = " ".join(word for word in words.split(" ") if word not in there)
    if words:
        rows.ADD_WORDS.run(request=request_id, added=f" {words}")
