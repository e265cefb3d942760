"""The rights that people hold, and the query condition for one."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

DECIDE = "approvals.decide_approvalrequest"
VIEW = "approvals.view_approvalrequest"
ADMINISTER = "approvals.administer"
#: Reveal hidden values on the page of a request.
REVEAL = "approvals.reveal_secrets"
#: Read the audit log on its page, in the admin and over REST.
VIEW_RECORD = "approvals.view_auditentry"
#: Ignore approver scopes when seeing and deciding; this gives no other right.
IGNORE_SCOPES = "approvals.ignore_scopes"

#: Decide alone a request whose terms require several people.
BREAK_GLASS = "approvals.break_glass"

#: All rights. A superuser holds each.
ALL = frozenset(
    {DECIDE, VIEW, ADMINISTER, REVEAL, VIEW_RECORD, IGNORE_SCOPES, BREAK_GLASS}
)


def holds(permission: str, user: str) -> Q:
    """Return the condition that the user with the id in column `user` has a permission, directly or through a group."""
    app, _, name = permission.partition(".")

    def granted(path: str) -> Mapping[str, object]:
        return {
            "user": OuterRef(user),
            f"{path}__codename": name,
            f"{path}__content_type__app_label": app,
        }

    own = User.user_permissions.through._default_manager.filter(**granted("permission"))
    in_groups = User.groups.through._default_manager.filter(
        **granted("group__permissions")
    )
    return Q(Exists(own)) | Q(Exists(in_groups))
