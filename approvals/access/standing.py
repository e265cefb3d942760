"""Who acts, as the database has it now: the account, its rights, and the key or the session that the call rests on.

A call reads all this when it begins. An action that has waited for a lock since then reads it again, with the statement that
takes the lock: whoever has been deactivated, logged out or has lost a right or a key meanwhile must not act any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import (
    Aggregate,
    BigAutoField,
    CharField,
    Exists,
    Expression,
    Model,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.functions import Cast, Concat, Now
from django.utils.translation import gettext as _

from approvals.access import keys, rights, scopes, standing_in
from approvals.db.prepared import Parameter, Prepared
from approvals.exceptions import NotAuthenticated, ScopeMissing
from approvals.models import ApproverScope
from approvals.models.actors import Actor, KeyActor, SessionActor, person_behind
from approvals.models.keys import ApiKey

Row = TypeVar("Row", bound=Model)

#: The rights that are read.
_RIGHTS = (
    rights.DECIDE,
    rights.VIEW,
    rights.VIEW_RECORD,
    rights.ADMINISTER,
    rights.IGNORE_SCOPES,
    rights.REVEAL,
    rights.BREAK_GLASS,
)
_APP = "approvals"
_PERSON = Parameter("person", BigAutoField())
_PASSWORD = Parameter("password", CharField())
_KEY = Parameter("key", BigAutoField())
_SESSION = Parameter("session", CharField())
#: Before the names of the columns that `with_standing` adds, so that they never meet a column of the row.
_ACTING = "acting_"


class Basis(StrEnum):
    """What a call rests on, besides the account."""

    KEY = "key"
    SESSION = "session"
    NOTHING = "nothing"


class _Joined(Aggregate):
    """Texts of the rows with commas between them; null for no rows."""

    function = "GROUP_CONCAT"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(compiler, connection, function="STRING_AGG", template="%(function)s(%(expressions)s, ',')")


def basis_of(actor: Actor) -> Basis:
    if isinstance(actor, KeyActor):
        return Basis.KEY
    return Basis.SESSION if isinstance(actor, SessionActor) else Basis.NOTHING


def with_standing(rows: QuerySet[Row, Row], basis: Basis) -> QuerySet[Row, Row]:
    """Return the rows with who acts, for a prepared query that takes the `parameters_of` an actor with this basis."""
    account = User.objects.filter(pk=_PERSON, is_active=True)
    teams = User.groups.through._default_manager.filter(user=_PERSON).values("group")
    standing: dict[str, Any] = {
        "own_rights": _names_of(User.user_permissions.through._default_manager.filter(user=_PERSON)),
        "team_rights": _names_of(Group.permissions.through._default_manager.filter(group__in=teams)),
        "content_types": _joined(ContentType.objects.filter(app_label=_APP), Cast("pk", TextField())),
        "scoped": Exists(ApproverScope.objects.all()),
        "stands_in": Exists(standing_in.absences_with(_PERSON)),
    }
    if basis == Basis.SESSION:
        # A session ends with the password that it began with, too.
        account = account.filter(password=_PASSWORD)
        standing["lives"] = Exists(Session.objects.filter(session_key=_SESSION, expire_date__gt=Now()))
    elif basis == Basis.KEY:
        standing["key_scopes"] = Subquery(ApiKey.objects.filter(keys.live(), pk=_KEY).values("scopes"))
    standing["superuser"] = Subquery(account.values("is_superuser"))
    annotated: QuerySet[Row, Row] = rows.annotate(**{f"{_ACTING}{name}": column for name, column in standing.items()})
    return annotated


def _names_of(rows: QuerySet[Any]) -> Subquery:
    """Return the rights that these rows give, each with the id of its content type: `12.decide_approvalrequest`.

    Without a join of the content types: PostgreSQL, which counts too few of them to plan well, would begin with them.
    """
    name = Concat(Cast("permission__content_type_id", TextField()), Value("."), "permission__codename")
    return _joined(rows.values(name=name), "name")


def _joined(rows: QuerySet[Any, Any], column: str | Expression) -> Subquery:
    return Subquery(rows.annotate(all=Value(1)).order_by().values("all").values(joined=_Joined(column)))


def parameters_of(actor: Actor) -> dict[str, Any]:
    """Return what a prepared query `with_standing` takes of an actor."""
    if isinstance(actor, KeyActor):
        return {"person": actor.pk, "key": actor.key.pk}
    if isinstance(actor, SessionActor):
        return {"person": actor.pk, "session": actor.session_key, "password": actor.user.password}
    return {"person": actor.pk}


def take_standing(row: Model, actor: Actor, now: datetime) -> None:
    """Let the rest of the call go by what was read with this row, and take it off the row. NotAuthenticated, ScopeMissing.

    `now` is the time by the clock of the database.
    """
    columns = [name for name in vars(row) if name.startswith(_ACTING)]
    read = {name.removeprefix(_ACTING): vars(row).pop(name) for name in columns}
    if not isinstance(actor, User):
        _require_alive(read, actor, now)
    user = person_behind(actor)
    held = _held(read)
    user.is_active, user.is_superuser = read["superuser"] is not None, bool(read["superuser"])
    rights.remember(user, {right: right in held for right in _RIGHTS})
    scopes.forget(user)
    standing_in.forget(user)
    standing_in.remember(user, stands_in=read["stands_in"])
    scopes.remember(user, limited=read["scoped"] and not user.has_perm(rights.IGNORE_SCOPES))


def _held(read: Mapping[str, Any]) -> Set[str]:
    """Return the rights of this app that the person has."""
    names = ",".join(filter(None, (read["own_rights"], read["team_rights"]))).split(",")
    known = (read["content_types"] or "").split(",")
    return {f"{_APP}.{name}" for number, _, name in (pair.partition(".") for pair in names) if number in known}


def _require_alive(read: Mapping[str, Any], actor: KeyActor | SessionActor, now: datetime) -> None:
    """NotAuthenticated if the account, the key, the session or the client token has ended; ScopeMissing for a narrowed key."""
    alive = read["key_scopes"] is not None if isinstance(actor, KeyActor) else read["lives"]
    if read["superuser"] is None or not alive or (actor.until is not None and actor.until <= now):
        message = _("Your log-in or key has ended meanwhile. Nothing was changed. Log in again, or send a valid key.")
        raise NotAuthenticated(message)
    if isinstance(actor, KeyActor) and (gone := set(actor.key.scopes) - set(read["key_scopes"])):
        raise ScopeMissing(min(gone))


def _account(basis: Basis) -> QuerySet[User, User]:
    return with_standing(User.objects.filter(pk=_PERSON), basis).annotate(now=Now())


_ACCOUNTS: Mapping[Basis, Prepared[User]] = {basis: Prepared(partial(_account, basis)) for basis in Basis}


def read_again(actor: Actor) -> None:
    """Read who acts again, in a statement of its own, after a wait for a lock. NotAuthenticated, ScopeMissing."""
    row = _ACCOUNTS[basis_of(actor)].first(**parameters_of(actor))
    if row is None:
        raise NotAuthenticated
    take_standing(row, actor, vars(row).pop("now"))
