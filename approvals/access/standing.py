"""Who acts, as the database has it now: the account, its rights, and the key or the session that the call rests on.

A call reads all this when it begins. An action that has waited for a lock since then reads it again, with the statement that
takes the lock: whoever has been deactivated, logged out or has lost a right or a key meanwhile must not act any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import BigAutoField, Case, CharField, Exists, Model, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals.access import keys, rights, scopes, standing_in
from approvals.db.prepared import Parameter, Prepared
from approvals.exceptions import NotAuthenticated, ScopeMissing
from approvals.models import ApproverScope
from approvals.models.actors import Actor, KeyActor, SessionActor, person_behind
from approvals.models.keys import ApiKey

Row = TypeVar("Row", bound=Model)

#: The rights that are read, each with the power of two that stands for it in a sum.
_POWERS = {
    right: 1 << number
    for number, right in enumerate(
        (
            rights.DECIDE,
            rights.VIEW,
            rights.VIEW_RECORD,
            rights.ADMINISTER,
            rights.IGNORE_SCOPES,
            rights.REVEAL,
            rights.BREAK_GLASS,
        )
    )
}
_PERSON = Parameter("person", BigAutoField())
_KEY = Parameter("key", BigAutoField())
_SESSION = Parameter("session", CharField())
#: The columns that `with_standing` adds.
_COLUMNS = ("own_rights", "team_rights", "superuser", "password", "scoped", "stands_in", "key_scopes", "session_lives")
#: Before their names, so that they never meet a column of the row.
_ACTING = "acting_"


def with_standing(rows: QuerySet[Row, Row]) -> QuerySet[Row, Row]:
    """Return the rows with who acts, for a prepared query that takes the `parameters_of` an actor."""
    account = User.objects.filter(pk=_PERSON, is_active=True)
    live_key = ApiKey.objects.filter(keys.live(), pk=_KEY)
    live_session = Session.objects.filter(session_key=_SESSION, expire_date__gt=Now())
    standing: dict[str, Any] = {
        "acting_own_rights": _sum_of(User.user_permissions.through._default_manager.all(), "permission"),
        "acting_team_rights": _sum_of(User.groups.through._default_manager.all(), "group__permissions"),
        "acting_superuser": Subquery(account.values("is_superuser")),
        "acting_password": Subquery(account.values("password")),
        "acting_scoped": Exists(ApproverScope.objects.all()),
        "acting_stands_in": Exists(standing_in.absences_with(_PERSON)),
        "acting_key_scopes": Subquery(live_key.values("scopes")),
        "acting_session_lives": Exists(live_session),
    }
    annotated: QuerySet[Row, Row] = rows.annotate(**standing)
    return annotated


def _sum_of(rows: QuerySet[Any], permission: str) -> Subquery:
    """Return the sum of the powers of the rights that the person has by these rows; null for none."""
    names = {right.partition(".")[2]: power for right, power in _POWERS.items()}
    power = Case(*(When(**{f"{permission}__codename": name}, then=Value(power)) for name, power in names.items()))
    of_app = {f"{permission}__content_type__app_label": "approvals", f"{permission}__codename__in": [*names]}
    held = rows.filter(user=_PERSON, **of_app).order_by().values("user")
    return Subquery(held.annotate(powers=Sum(power, distinct=True)).values("powers"))


def parameters_of(actor: Actor) -> dict[str, Any]:
    """Return what a prepared query `with_standing` takes of an actor."""
    key = actor.key.pk if isinstance(actor, KeyActor) else 0
    session = actor.session_key if isinstance(actor, SessionActor) else ""
    return {"person": actor.pk, "key": key, "session": session}


def take_standing(row: Model, actor: Actor, now: datetime) -> None:
    """Let the rest of the call go by what was read with this row, and take it off the row. NotAuthenticated, ScopeMissing.

    `now` is the time by the clock of the database.
    """
    read = {name: vars(row).pop(f"{_ACTING}{name}") for name in _COLUMNS}
    if not isinstance(actor, User):
        _require_alive(read, actor, now)
    user = person_behind(actor)
    held = (read["own_rights"] or 0) | (read["team_rights"] or 0)
    user.is_active, user.is_superuser = read["superuser"] is not None, bool(read["superuser"])
    rights.remember(user, {right: bool(held & power) for right, power in _POWERS.items()})
    scopes.forget(user)
    standing_in.forget(user)
    standing_in.remember(user, stands_in=read["stands_in"])
    scopes.remember(user, limited=read["scoped"] and not user.has_perm(rights.IGNORE_SCOPES))


def _require_alive(read: Mapping[str, Any], actor: KeyActor | SessionActor, now: datetime) -> None:
    """NotAuthenticated if the account, the key, the session or the client token has ended; ScopeMissing for a narrowed key."""
    if isinstance(actor, KeyActor):
        alive = read["key_scopes"] is not None
    else:
        # A session ends with the password that it began with, too.
        alive = read["session_lives"] and read["password"] == actor.user.password
    if read["superuser"] is None or not alive or (actor.until is not None and actor.until <= now):
        message = _("Your log-in or key has ended meanwhile. Nothing was changed. Log in again, or send a valid key.")
        raise NotAuthenticated(message)
    if isinstance(actor, KeyActor) and (gone := set(actor.key.scopes) - set(read["key_scopes"])):
        raise ScopeMissing(min(gone))


_USER: Prepared[User] = Prepared(lambda: with_standing(User.objects.filter(pk=_PERSON)).annotate(now=Now()))


def read_again(actor: Actor) -> None:
    """Read who acts again, in a statement of its own, after a wait for a lock. NotAuthenticated, ScopeMissing."""
    row = _USER.first(**parameters_of(actor))
    if row is None:
        raise NotAuthenticated
    take_standing(row, actor, vars(row).pop("now"))
