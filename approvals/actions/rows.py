"""The statements with which an ask and a decision write their rows."""

from __future__ import annotations

from django.db.models import BigAutoField, F, TextField, UUIDField
from django.db.models.functions import Concat

from approvals.db.prepared import Insert, Parameter, Update
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.models.search import SearchText
from approvals.states import ENDED, Status

REQUEST = Insert(ApprovalRequest)
DECISION = Insert(Decision, returning=("id",))
#: Ends a request that waits; the condition is a second guard beside the lock.
END_REQUEST = Update(
    lambda: ApprovalRequest.objects.filter(pk=Parameter("pk", UUIDField()), status=Status.PENDING),
    "status",
    "changed_at",
)


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
