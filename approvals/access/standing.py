"""Who acts, as the database has it now: the account, its rights, and the key or the session that the call rests on.

A call reads all this when it begins. An action that has waited for a lock since then reads it again, with the statement that
takes the lock: whoever has been deactivated, logged out or has lost a right or a key meanwhile must not act any more.

What is read is a `Standing`: a value that is handed on as an argument and ends with the call. `approvals.access.permissions` says
what follows from it.
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

from approvals.access import rights, standing_in
from approvals.access.scopes import NOWHERE, Reach, reaches_of
from approvals.db.many import Values, any_of
from approvals.db.prepared import Parameter, Prepared
from approvals.exceptions import NotAuthenticated, ScopeMissing
from approvals.models import ApproverScope
from approvals.models.actors import Actor, KeyActor, SessionActor
from approvals.models.keys import ApiKey, live

Row = TypeVar("Row", bound=Model)

_APP = "approvals"
#: Who acts, in a query that takes the `parameters_of` an actor.
ACTING = Parameter("person", BigAutoField())
_PASSWORD = Parameter("password", CharField())
_KEY = Parameter("key", BigAutoField())
_SESSION = Parameter("session", CharField())
#: Before the names of the columns that `with_standing` adds, so that they never meet a column of the row.
_COLUMN = "acting_"


@dataclass(frozen=True, slots=True)
class Standing:
    """A person and what they may do; `pk` is 0 for no one.

    `rights` are those of `access.rights` that they hold, and `reach` is what approver scopes leave of them: None if nothing
    limits them. `away_for` are the ids of the people for whom they stand in now. `by_key` says that they act through an API key.
    """

    pk: int = 0
    is_active: bool = False
    is_superuser: bool = False
    rights: frozenset[str] = frozenset()
    reach: Reach | None = None
    away_for: tuple[int, ...] = ()
    by_key: bool = False

    def holds(self, right: str) -> bool:
        return right in self.rights

    @property
    def is_limited(self) -> bool:
        """Whether approver scopes limit what this person may see and decide."""
        return self.reach is not None

    @property
    def scope_sets(self) -> list[int]:
        """The scope sets whose requests a scope lets this person see; none for those whom nothing limits."""
        return [] if self.reach is None else self.reach.scope_sets

    def is_person(self, user_id: int | None) -> bool:
        """Return whether this is the active user with this id."""
        return self.is_active and self.pk == user_id


NOBODY = Standing()


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


def with_standing(
    rows: QuerySet[Row, Row], person: OuterRef | Parameter, basis: Basis = Basis.NOTHING
) -> QuerySet[Row, Row]:
    """Return the rows, each with what `standing_with` takes of the person with this id.

    With a basis, for a prepared query that takes the `parameters_of` an actor.
    """
    account = User.objects.filter(pk=person, is_active=True)
    # Of the teams, one query further out.
    member: Any = OuterRef(person) if isinstance(person, OuterRef) else person
    teams = User.groups.through._default_manager.filter(user=member).values("group")
    columns: dict[str, Any] = {
        "own_rights": _names_of(User.user_permissions.through._default_manager.filter(user=person)),
        "team_rights": _names_of(Group.permissions.through._default_manager.filter(group__in=teams)),
        "content_types": _joined(ContentType.objects.filter(app_label=_APP), Cast("pk", TextField())),
        "scoped": Exists(ApproverScope.objects.all()),
        "stands_in": Exists(standing_in.absences_with(person)),
    }
    if basis == Basis.SESSION:
        # A session ends with the password that it began with, too.
        account = account.filter(password=_PASSWORD)
        columns["lives"] = Exists(Session.objects.filter(session_key=_SESSION, expire_date__gt=Now()))
    elif basis == Basis.KEY:
        columns["key_scopes"] = Subquery(ApiKey.objects.filter(live(), pk=_KEY).values("scopes"))
    columns["superuser"] = Subquery(account.values("is_superuser"))
    annotated: QuerySet[Row, Row] = rows.annotate(**{f"{_COLUMN}{name}": column for name, column in columns.items()})
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


def standing_with(row: Model, user_id: int, *, by_key: bool = False) -> Standing:
    """Return the standing of a person that was read with a row, and take it off the row.

    Whom scopes limit costs two statements more, and who stands in for someone one more.
    """
    return _standings({user_id: _taken(row)}, by_key=by_key)[user_id]


def standing_under_lock(row: Model, actor: Actor, now: datetime) -> Standing:
    """Return the standing of who acts, which was read with a row and their basis. NotAuthenticated, ScopeMissing.

    `now` is the time by the clock of the database.
    """
    columns = _taken(row)
    if not isinstance(actor, User):
        _require_alive(columns, actor, now)
    return _standings({actor.pk: columns}, by_key=isinstance(actor, KeyActor))[actor.pk]


def standing_of(actor: Actor | AnonymousUser) -> Standing:
    """Return the standing of someone at the beginning of a call, in a statement of its own; NOBODY without an account."""
    if isinstance(actor, AnonymousUser):
        return NOBODY
    row = _ACCOUNTS[Basis.NOTHING].first(person=actor.pk)
    return NOBODY if row is None else standing_with(row, actor.pk, by_key=isinstance(actor, KeyActor))


def standings_of(people: Collection[int]) -> dict[int, Standing]:
    """Return the standing of each of these people who exists, in one statement; at most three more for scopes and absences."""
    rows = _MANY.all(people=sorted(people)) if people else []
    return _standings({row.pk: _taken(row) for row in rows})


def _taken(row: Model) -> dict[str, Any]:
    """Take the columns that `with_standing` has added off a row, so that no code relies on what other rows lack."""
    columns = [name for name in vars(row) if name.startswith(_COLUMN)]
    return {name.removeprefix(_COLUMN): vars(row).pop(name) for name in columns}


def _standings(columns: Mapping[int, Mapping[str, Any]], *, by_key: bool = False) -> dict[int, Standing]:
    held = {person: _held(read) for person, read in columns.items()}
    concerned = {person for person, names in held.items() if rights.DECIDE in names or rights.VIEW in names}
    delegates = [person for person in concerned if columns[person]["stands_in"]]
    away = standing_in.away_for(delegates) if delegates else {}
    limited = {person for person, read in columns.items() if _is_limited(read, held[person])}
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


def _is_limited(read: Mapping[str, Any], held: frozenset[str]) -> bool:
    return read["scoped"] and read["superuser"] is False and rights.IGNORE_SCOPES not in held


def _held(read: Mapping[str, Any]) -> frozenset[str]:
    """Return the rights of this app that the person has: none without an active account."""
    if read["superuser"] is None:
        return frozenset()
    if read["superuser"]:
        return rights.ALL
    names = ",".join(filter(None, (read["own_rights"], read["team_rights"]))).split(",")
    known = (read["content_types"] or "").split(",")
    pairs = (pair.partition(".") for pair in names)
    return frozenset(f"{_APP}.{name}" for number, _, name in pairs if number in known) & rights.ALL


def _require_alive(read: Mapping[str, Any], actor: KeyActor | SessionActor, now: datetime) -> None:
    """NotAuthenticated if the account, the key, the session or the client token has ended; ScopeMissing for a narrowed key."""
    alive = read["key_scopes"] is not None if isinstance(actor, KeyActor) else read["lives"]
    if read["superuser"] is None or not alive or (actor.until is not None and actor.until <= now):
        message = _("Your log-in or key has ended meanwhile. Nothing was changed. Log in again, or send a valid key.")
        raise NotAuthenticated(message)
    if isinstance(actor, KeyActor) and (gone := set(actor.key.scopes) - set(read["key_scopes"])):
        raise ScopeMissing(min(gone))


def _account(basis: Basis) -> QuerySet[User, User]:
    return with_standing(User.objects.filter(pk=ACTING), ACTING, basis).only("pk").annotate(now=Now())


_ACCOUNTS: Mapping[Basis, Prepared[User]] = {basis: Prepared(partial(_account, basis)) for basis in Basis}
_MANY: Prepared[User] = Prepared(
    lambda: with_standing(
        User.objects.filter(pk__in=any_of(Parameter("people", Values()), int)).only("pk"), OuterRef("pk")
    )
)


def read_again(actor: Actor) -> Standing:
    """Return the standing of who acts, in a statement of its own, after a wait for a lock. NotAuthenticated, ScopeMissing."""
    row = _ACCOUNTS[basis_of(actor)].first(**parameters_of(actor))
    if row is None:
        raise NotAuthenticated
    return standing_under_lock(row, actor, vars(row).pop("now"))
