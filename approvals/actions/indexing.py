"""Keep the words that requests are found by, in the transaction of what they repeat."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F, Value
from django.db.models.functions import Concat

from approvals.models import ApprovalRequest, Decision
from approvals.models.search import SearchText
from approvals.queries.search_words import words_to_index

#: Characters that may be added by what is said of a request.
MAX_SAID = 20_000


def index_request(request: ApprovalRequest) -> None:
    """Make a new request findable."""
    said = (request.title, request.message, request.tool_name, request.tool_call_id or "", request.context)
    SearchText.objects.create(request=request, words=words_to_index(*said, request.input))


def index_decision(decision: Decision) -> None:
    """Make an ended request findable by what was said at its end."""
    add_words(decision.request_id, decision.comment, decision.answer, decision.edited_input)


def add_words(request_id: UUID, *said: object) -> None:
    """Make a request findable by more texts or JSON values that belong to it; inside the transaction that stores them."""
    words = words_to_index(*said, limit=MAX_SAID)
    if words:
        SearchText.objects.filter(request=request_id).update(words=Concat(F("words"), Value(f" {words}")))
