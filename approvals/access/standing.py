"""The current standing of an actor from the database: account, rights, and the key or session behind the call.

It is read when a call begins. An action that waits for a lock reads it again in the statement that takes the lock, so that
a person cannot act after being deactivated or logged out, or after losing a right or a key.

The result is a `Standing`, a value that is passed as an argument and ends with the call. `approvals.access.permissions`
derives permissions from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser, Group, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import (
    Aggregate,
    BigAutoField,
    CharField,
    Exists,
    Expression,
    Model,
    OuterRef,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.functions import Cast, Concat, Now
from django.utils.translation import gettext as _

from approvals.access import absence, rights
from approvals.access.scopes import NOWHERE, Reach, reaches_of
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.exceptions import NotAuthenticated, ScopeMissing
from approvals.models import ApproverScope, ChannelAccount
from approvals.models.actors import Actor, ChannelActor, KeyActor, SessionActor
from approvals.models.keys import ApiKey, live

Row = TypeVar("Row", bound=Model)

_APP = "approvals"
#: The actor, in a query that takes an actor's parameters (`basis_of`).
ACTING = Parameter("person", BigAutoField())
_PASSWORD = Parameter("password", CharField())
_KEY = Parameter("key", BigAutoField())
_SESSION = Parameter("session", CharField())
_ACCOUNT = Parameter("account", BigAutoField())
#: Prefix of the columns that `with_standing` adds, to avoid collisions with columns of the row.
_COLUMN = "acting_"


@dataclass(frozen=True, slots=True)
class Standing:
    """A person and their rights; `pk` is 0 for no one.

    `rights` are those of `access.rights`. `reach` is their limit by approver scopes, None if unlimited. `away_for` are the ids
    of the absent people whose delegate they are now. `by_key` is true if they act through an API key.
    """

    pk: int = 0
    is_active: bool = False
    is_superuser: bool = False
    rights: frozenset[str] = frozenset()
    reach: Reach | None = None
    away_for: tuple[int, ...] = ()
    by_key: bool = False

    @property
    def is_limited(self) -> bool:
        """Whether approver scopes limit the requests that this person may see and decide."""
        return self.reach is not None

    @property
    def scope_sets(self) -> list[int]:
        """The scope sets whose requests this person may see; empty for unlimited people."""
        return [] if self.reach is None else self.reach.scope_sets

    def is_person(self, user_id: int | None) -> bool:
        """Return whether this is the active user with this id."""
        return self.is_active and self.pk == user_id


NOBODY = Standing()


class Basis(StrEnum):
    """The credentials behind a call, besides the account."""

    KEY = "key"
    SESSION = "session"
    ACCOUNT = "account"
    NOTHING = "nothing"


class _Joined(Aggregate):
    """Texts of the rows, joined by commas; null for no rows."""

    function = "GROUP_CONCAT"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(
            compiler,
            connection,
            function="STRING_AGG",
            template="%(function)s(%(expressions)s, ',')",
        )


def with_standing(
    rows: QuerySet[Row, Row], person: OuterRef | Parameter, basis: Basis = Basis.NOTHING
) -> QuerySet[Row, Row]:
    """Return the rows, each with the columns that `standing_with` needs about this person.

    With a basis, the result is for a prepared query that takes an actor's parameters (`basis_of`).
    """
    account = User.objects.filter(pk=person, is_active=True)
    # The teams are one query level further out.
    member: Any = OuterRef(person) if isinstance(person, OuterRef) else person
    teams = User.groups.through._default_manager.filter(user=member).values("group")
    columns: dict[str, Any] = {
        "own_rights": _names_of(
            User.user_permissions.through._default_manager.filter(user=person)
        ),
        "team_rights": _names_of(
            Group.permissions.through._default_manager.filter(group__in=teams)
        ),
        "content_types": _joined(
            ContentType.objects.filter(app_label=_APP), Cast("pk", TextField())
        ),
        "scoped": Exists(ApproverScope.objects.all()),
        "stands_in": Exists(absence.absences_with(person)),
    }
    if basis == Basis.SESSION:
        # A password change ends the session too.
        account = account.filter(password=_PASSWORD)
        columns["lives"] = Exists(
            Session.objects.filter(session_key=_SESSION, expire_date__gt=Now())
        )
    elif basis == Basis.KEY:
        columns["key_scopes"] = Subquery(
            ApiKey.objects.filter(live(), pk=_KEY).values("scopes")
        )
    elif basis == Basis.ACCOUNT:
        columns["lives"] = Exists(
            ChannelAccount.objects.filter(pk=_ACCOUNT, user=person)
        )
    columns["superuser"] = Subquery(account.values("is_superuser"))
    annotated: QuerySet[Row, Row] = rows.annotate(
        **{f"{_COLUMN}{name}": column for name, column in columns.items()}
    )
    return annotated


def _names_of(rows: QuerySet[Any]) -> Subquery:
    """Return the rights in these rows, each with the id of its content type: `12.decide_approvalrequest`.

    Content types are not joined: PostgreSQL underestimates their number and would start the plan with them.
    """
    name = Concat(
        Cast("permission__content_type_id", TextField()),
        Value("."),
        "permission__codename",
    )
    return _joined(rows.values(name=name), "name")


def _joined(rows: QuerySet[Any, Any], column: str | Expression) -> Subquery:
    return Subquery(
        rows.annotate(all=Value(1))
        .order_by()
        .values("all")
        .values(joined=_Joined(column))
    )


def basis_of(actor: Actor) -> tuple[Basis, dict[str, Any]]:
    """Return an actor's basis, and their parameters for a prepared query `with_standing` on it."""
    parameters: dict[str, Any] = {"person": actor.pk}
    if isinstance(actor, KeyActor):
        return Basis.KEY, parameters | {"key": actor.key.pk}
    if isinstance(actor, SessionActor):
        parameters |= {"session": actor.session_key, "password": actor.user.password}
        return Basis.SESSION, parameters
    if isinstance(actor, ChannelActor):
        return Basis.ACCOUNT, parameters | {"account": actor.account_id}
    return Basis.NOTHING, parameters


def standing_with(row: Model, user_id: int, *, by_key: bool = False) -> Standing:
    """Return the standing of a person that was read with a row, and remove its columns from the row.

    A person limited by scopes costs two more statements, a delegate one more.
    """
    return _standings({user_id: _taken(row)}, by_key=by_key)[user_id]


def standing_under_lock(row: Model, actor: Actor, now: datetime) -> Standing:
    """Return the actor's standing from a locked row that was read with their basis. Raise NotAuthenticated or ScopeMissing.

    `now` is the time by the clock of the database.
    """
    columns = _taken(row)
    if not isinstance(actor, User):
        _require_alive(columns, actor, now)
    return _standings({actor.pk: columns}, by_key=isinstance(actor, KeyActor))[actor.pk]


def standing_of(actor: Actor | AnonymousUser) -> Standing:
    """Return someone's standing at the beginning of a call, in its own statement; NOBODY without an account."""
    if isinstance(actor, AnonymousUser):
        return NOBODY
    row = _ACCOUNTS[Basis.NOTHING].first(person=actor.pk)
    return (
        NOBODY
        if row is None
        else standing_with(row, actor.pk, by_key=isinstance(actor, KeyActor))
    )


def standings_of(people: Collection[int]) -> dict[int, Standing]:
    """Return the standings of those of these people who exist, in one statement; at most three more for scopes and absences."""
    rows = _MANY.all(people=sorted(people)) if people else []
    return _standings({row.pk: _taken(row) for row in rows})


def _taken(row: Model) -> dict[str, Any]:
    """Remove and return the columns that `with_standing` added, so that no code relies on them elsewhere."""
    columns = [name for name in vars(row) if name.startswith(_COLUMN)]
    return {name.removeprefix(_COLUMN): vars(row).pop(name) for name in columns}


def _standings(
    columns: Mapping[int, Mapping[str, Any]], *, by_key: bool = False
) -> dict[int, Standing]:
    held = {person: _held(read) for person, read in columns.items()}
    concerned = {
        person
        for person, names in held.items()
        if rights.DECIDE in names or rights.VIEW in names
    }
    delegates = [person for person in concerned if columns[person]["stands_in"]]
    away = absence.away_for(delegates) if delegates else {}
    limited = {
        person
        for person, read in columns.items()
        if read["scoped"]
        and read["superuser"] is False
        and rights.IGNORE_SCOPES not in held[person]
    }
    within = {person: away.get(person, ()) for person in limited & concerned}
    reaches = reaches_of(within) if within else {}
    return {
        person: Standing(
            pk=person,
            is_active=read["superuser"] is not None,
            is_superuser=bool(read["superuser"]),
            rights=held[person],
            reach=reaches.get(person, NOWHERE) if person in limited else None,
            away_for=tuple(away.get(person, ())),
            by_key=by_key,
        )
        for person, read in columns.items()
    }


def _held(read: Mapping[str, Any]) -> frozenset[str]:
    """Return the person's rights of this app; empty without an active account."""
    if read["superuser"] is None:
        return frozenset()
    if read["superuser"]:
        return rights.ALL
    names = ",".join(filter(None, (read["own_rights"], read["team_rights"]))).split(",")
    known = (read["content_types"] or "").split(",")
    pairs = (pair.partition(".") for pair in names)
    return (
        frozenset(f"{_APP}.{name}" for number, _, name in pairs if number in known)
        & rights.ALL
    )


def _require_alive(
    read: Mapping[str, Any],
    actor: KeyActor | SessionActor | ChannelActor,
    now: datetime,
) -> None:
    """Raise NotAuthenticated if the account or its credentials have ended; ScopeMissing if the key lost the scope."""
    alive = (
        read["key_scopes"] is not None if isinstance(actor, KeyActor) else read["lives"]
    )
    if (
        read["superuser"] is None
        or not alive
        or (actor.until is not None and actor.until <= now)
    ):
        message = _(
            "Your session or key has ended. Nothing was changed. Log in again, or send a valid key."
        )
        raise NotAuthenticated(message)
    if isinstance(actor, KeyActor) and (
        gone := set(actor.key.scopes) - set(read["key_scopes"])
    ):
        raise ScopeMissing(min(gone))


def _account(basis: Basis) -> QuerySet[User, User]:
    return (
        with_standing(User.objects.filter(pk=ACTING), ACTING, basis)
        .only("pk")
        .annotate(now=Now())
    )


#: The actor and their rights, read again after waiting for a lock.
_ACCOUNTS: Mapping[Basis, Prepared[User]] = {
    basis: Prepared(partial(_account, basis)) for basis in Basis
}
#: The rights of several people.
_MANY: Prepared[User] = Prepared(
    lambda: with_standing(
        User.objects.filter(pk__in=any_of(Parameter("people", Values()), int)).only(
            "pk"
        ),
        OuterRef("pk"),
    )
)


def read_again(actor: Actor) -> Standing:
    """Return the actor's standing in its own statement, after waiting for a lock. Raise NotAuthenticated or ScopeMissing."""
    basis, parameters = basis_of(actor)
    row = _ACCOUNTS[basis].first(**parameters)
    if row is None:
        raise NotAuthenticated
    return standing_under_lock(row, actor, vars(row).pop("now"))
