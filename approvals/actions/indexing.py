"""Update the full-text index of requests, in the transaction that stores the text."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F, Value
from django.db.models.functions import Concat

from approvals.models import ApprovalRequest, Decision
from approvals.models.search import SearchText
from approvals.queries.search_words import words_to_index

#: Characters that an answer or a comment may add.
MAX_ADDED = 20_000


def index_request(request: ApprovalRequest) -> None:
    """Index a new request."""
    texts = (request.title, request.message, request.tool_name, request.tool_call_id or "", request.context)
    SearchText.objects.create(request=request, words=words_to_index(*texts, request.input))


def index_decision(decision: Decision) -> None:
    """Index the texts of a decision under its request."""
    add_words(decision.request_id, decision.comment, decision.answer, decision.edited_input)


def add_words(request_id: UUID, *texts: object) -> None:
    """Index more texts or JSON values under a request."""
    words = words_to_index(*texts, limit=MAX_ADDED)
    if words:
        SearchText.objects.filter(request=request_id).update(words=Concat(F("words"), Value(f" {words}")))
