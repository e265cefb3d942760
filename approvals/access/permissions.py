"""Who may do what: one function per right (docs/reference/permissions.md)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeGuard

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.db.models import QuerySet

from approvals.access.keys import KEY_SCOPE, USER_SCOPE
from approvals.access.rights import ADMINISTER, DECIDE, REVEAL, VIEW, VIEW_RECORD
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor, KeyActor
from approvals.states import ASKS, Kind, Priority

Person = Actor | AnonymousUser
#: The user that someone has named; AnonymousUser if there is none of that name.
Named = User | AnonymousUser


def sees_everything(user: Person) -> bool:
    """Return whether this is a decider or an auditor, who see every request."""
    return user.has_perm(DECIDE) or user.has_perm(VIEW)


def load_permissions(users: Collection[User]) -> None:
    """Load the permissions of these users in two queries, into the cache of `ModelBackend` that `has_perm` reads."""
    known: dict[int, set[str]] = {user.pk: set() for user in users}
    for way in ("user", "group__user"):
        granted = Permission.objects.filter(**{f"{way}__in": any_of(known, int)})
        for user_id, app, name in granted.values_list(way, "content_type__app_label", "codename"):
            known[user_id].add(f"{app}.{name}")
    for user in users:
        user._perm_cache = known[user.pk]  # type: ignore[attr-defined]


def decides_everything(user: Person) -> bool:
    """Return whether this is a decider, who may answer and decide every request."""
    return user.has_perm(DECIDE)


def deciders() -> QuerySet[User]:
    """Return every user who may decide approvals."""
    return User.objects.with_perm(DECIDE, backend="django.contrib.auth.backends.ModelBackend")


def may_administer(user: Person) -> bool:
    """Return whether this person may manage people, keys, webhooks, notification rules and tools."""
    return user.has_perm(ADMINISTER)


def administrators() -> QuerySet[User]:
    """Return every active user who may administer."""
    return User.objects.with_perm(ADMINISTER, backend="django.contrib.auth.backends.ModelBackend")


def reads_record(user: Person) -> bool:
    """Return whether this person may read and export the audit log."""
    return user.has_perm(VIEW_RECORD)


def may_reveal(user: Person) -> bool:
    """Return whether this person may show the hidden values of the requests that they see."""
    return user.has_perm(REVEAL)


def _is(user: Person, user_id: int | None) -> bool:
    return user.is_active and user.pk is not None and user.pk == user_id


def may_see(user: Person, request: ApprovalRequest) -> bool:
    return sees_everything(user) or _is(user, request.requested_by_id) or _is(user, request.assigned_to_id)


def may_see_workflow(user: Person, workflow: Workflow) -> bool:
    return sees_everything(user) or _is(user, workflow.owner_id)


def may_answer(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may answer a question or a form."""
    return decides_everything(user) or _is(user, request.requested_by_id) or _is(user, request.assigned_to_id)


def may_decide(user: Person) -> bool:
    """Return whether this person may decide approvals and recoveries; an assignee or requester does not get that right."""
    return decides_everything(user)


def may_close(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may end the request with any verdict that fits its kind."""
    return may_answer(user, request) if request.kind in ASKS else may_decide(user)


def may_be_assigned(named: Named, kind: str) -> TypeGuard[User]:
    """Return whether this user may get a request of this kind: anyone a question, only deciders an approval."""
    return named.is_active and (kind in ASKS or may_decide(named))


def asked_through_own_key(actor: Actor, request: ApprovalRequest) -> bool:
    """Return whether a key of the same user asked this over the API: a program must not decide its own request."""
    from_outside = request.scope.startswith(KEY_SCOPE)
    return isinstance(actor, KeyActor) and from_outside and actor.pk == request.requested_by_id


def only_on_own_pages(request: ApprovalRequest) -> bool:
    """Return whether only the web pages may decide it: critical approvals, and every recovery."""
    return request.kind == Kind.RECOVERY or (request.kind == Kind.APPROVAL and request.priority == Priority.CRITICAL)


def may_comment(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may comment, also after the end: deciders, the requester and the assignee."""
    return may_close(user, request) or _is(user, request.requested_by_id) or _is(user, request.assigned_to_id)


def may_resume(user: Person, request: ApprovalRequest) -> bool:
    """Return whether a program of this user made the request: agents of chats are resumed by Pausepoint itself."""
    return is_from_outside(request) and _is(user, request.requested_by_id)


def is_from_outside(request: ApprovalRequest) -> bool:
    """Return whether a program made the request through the API."""
    return request.scope.startswith((KEY_SCOPE, USER_SCOPE))


def may_cancel(user: Person, owner_id: int) -> bool:
    """Return whether this person may cancel a request, or stop the work that asked; `owner_id` is the owner of that work."""
    return decides_everything(user) or _is(user, owner_id)
