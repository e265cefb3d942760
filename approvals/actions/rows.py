"""The statements that write the rows of asks and decisions, and the search words of requests."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import BigAutoField, F, TextField, UUIDField
from django.db.models.functions import Concat

from approvals.asking.calls import RequestOfCall
from approvals.asking.secrets import masked_input
from approvals.db.prepared import Parameter
from approvals.db.prepared_writes import Insert, Update, Write, write_together
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.search import SearchText
from approvals.queries.search_words import words_to_index
from approvals.states import ENDED, Status
from approvals.text.secrets import masked

#: Maximum length of search words added by an answer or a comment.
MAX_ADDED = 20_000

#: Adds a request.
REQUEST = Insert(ApprovalRequest)
#: Adds the decision of a request.
DECISION = Insert(Decision, returning=("id",))
#: Ends a pending request; the condition is a second guard besides the lock.
END_REQUEST = Update(
    lambda: ApprovalRequest.objects.filter(
        pk=Parameter("pk", UUIDField()), status=Status.PENDING
    ),
    "status",
    "changed_at",
)


#: Adds a workflow that no other transaction can open.
WORKFLOW = Insert(Workflow, returning=("id",))
#: Skips a workflow that another transaction has opened meanwhile.
OPEN_WORKFLOW = Insert(Workflow, ignore_conflicts=True, returning=("id",))
#: Columns of a workflow that asking and ending a request change.
_COUNTS = ("open_count", "state", "urgency", "suspended_at", "ended_at")
#: Stores the counters of a workflow.
_COUNT = Update(
    lambda: Workflow.objects.filter(pk=Parameter("pk", BigAutoField())), *_COUNTS
)

#: Adds the search words of a request.
SEARCH_TEXT = Insert(SearchText)
#: Adds later search words of a request, such as those of a result.
ADD_WORDS = Update(
    lambda: SearchText.objects.filter(request=Parameter("request", UUIDField())),
    words=Concat(F("words"), Parameter("added", TextField())),
)


#: Ends a workflow without pending requests.
END_WORKFLOW = Update(
    lambda: Workflow.objects.filter(
        pk=Parameter("pk", BigAutoField()), open_count=0
    ).exclude(state__in=sorted(ENDED)),
    *("state", "ended_at", "urgency", "suspended_at"),
)


def counted(workflow: Workflow) -> Write:
    """Return the write of a locked workflow's counters and the columns derived from them."""
    return _COUNT.of(
        pk=workflow.pk, **{name: getattr(workflow, name) for name in _COUNTS}
    )


def words_of_decision(request: ApprovalRequest, decision: Decision) -> list[Write]:
    """Return the writes that index the texts of a decision under its request, if it has any."""
    values = (decision.comment, decision.answer, decision.edited_input)
    shown = [
        masked_input(request, value) for value in values if value not in ("", None)
    ]
    return added_words(decision.request_id, *shown) if shown else []


def index_result(request: ApprovalRequest | RequestOfCall, *texts: object) -> None:
    """Index the result of a call under its request. Much of it is often in the input, which is indexed already."""
    known = words_to_index(masked_input(request, request.input))
    # Not all words of a long input may be indexed.
    words = (masked_input(request, text) for text in texts)
    there = known.split(" ") if len(known) <= MAX_ADDED else ()
    write_together(added_words(request.pk, *words, known=there))


def added_words(
    request_id: UUID, *texts: object, known: Iterable[str] = ()
) -> list[Write]:
    """Return the writes that index more texts or JSON values under a request, except words in `known`."""
    words = words_to_index(*map(masked, texts), limit=MAX_ADDED)
    if known:
        there = set(known)
        words = " ".join(word for word in words.split(" ") if word not in there)
    return [ADD_WORDS.of(request=request_id, added=f" {words}")] if words else []
