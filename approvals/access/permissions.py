"""Who may do what, one function each (docs/reference/permissions.md), and the keys by which machines come in."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeGuard

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.db.models import QuerySet

from approvals.access.keys import KEY_SCOPE
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor, KeyActor
from approvals.states import ASKS, Kind, Priority

Person = Actor | AnonymousUser
#: Whom somebody has named: AnonymousUser where nobody has that name.
Named = User | AnonymousUser

DECIDE = "approvals.decide_approvalrequest"


def sees_everything(user: Person) -> bool:
    """Deciders and auditors see every request."""
    return user.has_perm(DECIDE) or user.has_perm("approvals.view_approvalrequest")


def know_rights(users: Collection[User]) -> None:
    """Look up what all of these may do, in two queries, and leave it where `ModelBackend` keeps it: `has_perm` asks no more."""
    known: dict[int, set[str]] = {user.pk: set() for user in users}
    for way in ("user", "group__user"):
        found = Permission.objects.filter(**{f"{way}__in": list(known)})
        for user_id, app, name in found.values_list(way, "content_type__app_label", "codename"):
            known[user_id].add(f"{app}.{name}")
    for user in users:
        user._perm_cache = known[user.pk]  # type: ignore[attr-defined]


def decides_everything(user: Person) -> bool:
    """Holders of the permission answer and decide whatever is asked."""
    return user.has_perm(DECIDE)


def deciders() -> QuerySet[User]:
    """Everybody who could be asked to decide an approval."""
    return User.objects.with_perm(DECIDE, backend="django.contrib.auth.backends.ModelBackend")


def _is(user: Person, user_id: int | None) -> bool:
    return user.is_active and user.pk is not None and user.pk == user_id


def may_see(user: Person, request: ApprovalRequest) -> bool:
    return sees_everything(user) or _is(user, request.requested_by_id) or _is(user, request.assigned_to_id)


def may_see_workflow(user: Person, workflow: Workflow) -> bool:
    return sees_everything(user) or _is(user, workflow.owner_id)


def may_answer(user: Person, request: ApprovalRequest) -> bool:
    """Answer a question or a form."""
    return decides_everything(user) or _is(user, request.requested_by_id) or _is(user, request.assigned_to_id)


def may_decide(user: Person) -> bool:
    """Decide an approval or a recovery: being assigned to it, or having asked for it, gives nobody the right."""
    return decides_everything(user)


def may_close(user: Person, request: ApprovalRequest) -> bool:
    """Give any verdict that fits the request's kind."""
    return may_answer(user, request) if request.kind in ASKS else may_decide(user)


def may_be_assigned(named: Named, kind: str) -> TypeGuard[User]:
    """Whether a request of this kind may be routed there: all can answer a question, only some may decide an approval."""
    return named.is_active and (kind in ASKS or may_decide(named))


def asked_through_own_key(actor: Actor, request: ApprovalRequest) -> bool:
    """Whether this key asked it from outside, or another key of its user: a program must not decide what it asked."""
    from_outside = request.scope.startswith(KEY_SCOPE)
    return isinstance(actor, KeyActor) and from_outside and actor.pk == request.requested_by_id


def only_on_own_pages(request: ApprovalRequest) -> bool:
    """Whether it is decided on the desk's own pages and nowhere else: critical approvals, and every recovery."""
    return request.kind == Kind.RECOVERY or (request.kind == Kind.APPROVAL and request.priority == Priority.CRITICAL)


def may_comment(user: Person, request: ApprovalRequest) -> bool:
    """Say something in its thread, also after it has ended: who may close it, its owner and its assignee."""
    return may_close(user, request) or _is(user, request.requested_by_id) or _is(user, request.assigned_to_id)


def may_cancel(user: Person, owner_id: int) -> bool:
    """Cancel a request, or stop the work that asked; `owner_id` is whose work it is."""
    return decides_everything(user) or _is(user, owner_id)
