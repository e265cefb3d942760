"""Read the two permissions that nearly every call needs in the statement that reads its user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cached_property

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

DECIDE, VIEW = "approvals.decide_approvalrequest", "approvals.view_approvalrequest"
ADMINISTER = "approvals.administer"
#: To show hidden values on the page of a request.
REVEAL = "approvals.reveal_secrets"
#: To read the audit log on its page, in the admin and over REST.
VIEW_RECORD = "approvals.view_auditentry"
#: To see and decide as if there were no approver scopes; it gives no other right.
IGNORE_SCOPES = "approvals.ignore_scopes"

#: To decide alone what the terms of a request leave to several people.
BREAK_GLASS = "approvals.break_glass"


def holds(permission: str, user: str) -> Q:
    """Return the condition that the user with the id in this column has a permission, directly or through a group."""
    app, _, name = permission.partition(".")

    def granted(path: str) -> Mapping[str, object]:
        return {"user": OuterRef(user), f"{path}__codename": name, f"{path}__content_type__app_label": app}

    own = User.user_permissions.through._default_manager.filter(**granted("permission"))
    in_groups = User.groups.through._default_manager.filter(**granted("group__permissions"))
    return Q(Exists(own)) | Q(Exists(in_groups))


class Rights(Set[str]):
    """The permissions of a user, of which some are known; the others are read when one of them is asked for."""

    def __init__(self, user: User, known: Mapping[str, bool]) -> None:
        self._user, self._known = user, known

    def __contains__(self, name: object) -> bool:
        return self._known[name] if isinstance(name, str) and name in self._known else name in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> set[str]:
        # Another instance, because the backend would find this set on ours.
        return ModelBackend().get_all_permissions(User(pk=self._user.pk))


def remember(user: User, known: Mapping[str, bool]) -> None:
    """Let `user.has_perm` go by these permissions, which were just read."""
    user._perm_cache = Rights(user, known)  # type: ignore[attr-defined]
