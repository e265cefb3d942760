"""The statements with which an ask and a decision write their rows."""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS
from django.db.models import BigAutoField, F, TextField, UUIDField
from django.db.models.functions import Concat

from approvals.db.prepared import Insert, Parameter, Update
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.policy.scopes import stamp_of_scopes
from approvals.models.search import SearchText
from approvals.states import ENDED, Status

#: Returns also which scopes there are, null for none.
REQUEST = Insert(ApprovalRequest, returning=(stamp_of_scopes(),))
DECISION = Insert(Decision, returning=("id",))
#: Ends a request that waits; the condition is a second guard beside the lock.
END_REQUEST = Update(
    lambda: ApprovalRequest.objects.filter(pk=Parameter("pk", UUIDField()), status=Status.PENDING),
    "status",
    "changed_at",
)


def store_request(request: ApprovalRequest) -> str | None:
    """Store a new request. Return the stamp of the scopes that exist (`stamp_of_scopes`); None without any."""
    columns = {field.attname: getattr(request, field.attname) for field in request._meta.concrete_fields}
    row = REQUEST.row(**columns)
    request._state.adding, request._state.db = False, DEFAULT_DB_ALIAS
    return row[0] if row else None


WORKFLOW = Insert(Workflow, returning=("id",))
#: Leaves a workflow out that another transaction has opened meanwhile.
OPEN_WORKFLOW = Insert(Workflow, ignore_conflicts=True, returning=("id",))
#: What asking and ending a request changes in its workflow.
_COUNTS = ("open_count", "state", "urgency", "suspended_at", "ended_at")
_COUNT = Update(lambda: Workflow.objects.filter(pk=Parameter("pk", BigAutoField())), *_COUNTS)

SEARCH_TEXT = Insert(SearchText)
ADD_WORDS = Update(
    lambda: SearchText.objects.filter(request=Parameter("request", UUIDField())),
    words=Concat(F("words"), Parameter("added", TextField())),
)


#: Ends a workflow that waits for no one.
END_WORKFLOW = Update(
    lambda: Workflow.objects.filter(pk=Parameter("pk", BigAutoField()), open_count=0).exclude(state__in=sorted(ENDED)),
    *("state", "ended_at", "urgency", "suspended_at"),
)


def count(workflow: Workflow) -> None:
    """Store how many requests of a locked workflow wait, and what follows from it."""
    _COUNT.run(pk=workflow.pk, **{name: getattr(workflow, name) for name in _COUNTS})
