"""The people of the demo, and the ways into it that its log-in page offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from approvals.administration.people.actions import give_roles
from approvals.models.people import RoleName

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

PASSWORD = "pausepoint"  # noqa: S105 - a demo on your own machine


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """A person of the demo: what they do there, and their role. `staff` may open the admin."""

    username: str
    name: str
    does: StrPromise
    role: RoleName
    staff: bool = False


PEOPLE = (
    DemoPerson(
        "requester",
        "Rosa Kim",
        _("chats with the agent and answers its questions"),
        RoleName.REQUESTER,
    ),
    DemoPerson(
        "approver",
        "Ada Brooks",
        _("decides what agents may do"),
        RoleName.APPROVER,
    ),
    DemoPerson(
        "auditor",
        "Ines Roth",
        _("reads everything, decides nothing, exports the audit log"),
        RoleName.AUDITOR,
        staff=True,
    ),
    DemoPerson(
        "admin",
        "Max Lindner",
        _("may do everything, also in the admin"),
        RoleName.ADMINISTRATOR,
        staff=True,
    ),
)
#: Who decides beside them in the demo with two weeks of work.
COLLEAGUES = (
    DemoPerson(
        "finance",
        "Frank Osei",
        _("decides for the team Finance"),
        RoleName.APPROVER,
    ),
    DemoPerson(
        "security",
        "Sam Ito",
        _("decides for the team Security"),
        RoleName.APPROVER,
    ),
    DemoPerson(
        "second-admin",
        "Lena Maas",
        _("confirms what the other administrator loosens"),
        RoleName.ADMINISTRATOR,
        staff=True,
    ),
)


@dataclass(frozen=True, slots=True)
class WayIn:
    """A button of the log-in page: who logs in, what it says, and the page that follows."""

    username: str
    words: StrPromise
    address: str


#: A short tour: what to look at, as whom, and where.
TOUR = (
    WayIn("approver", _("Decide waiting requests with one key each"), "/#first"),
    WayIn(
        "security",
        _("Cast the vote that a large payment still needs"),
        "/?tool=sendPayment#first",
    ),
    WayIn(
        "admin", _("Read the rules and test them on past requests"), "/settings/policy/"
    ),
    WayIn("approver", _("See two weeks of figures"), "/insights/"),
    WayIn("auditor", _("Prove who approved what"), "/audit/?event=request.decided"),
)


@dataclass(frozen=True, slots=True)
class WaysIn:
    """The demo's part of the log-in page."""

    people: Sequence[DemoPerson]
    tour: Sequence[WayIn]

    @property
    def password(self) -> str:
        return PASSWORD


def here() -> list[DemoPerson]:
    """Return the demo's people who are on this desk."""
    everyone = (*PEOPLE, *COLLEAGUES)
    names = [each.username for each in everyone]
    active = User.objects.filter(username__in=names, is_active=True)
    usernames = set(active.values_list("username", flat=True))
    return [each for each in everyone if each.username in usernames]


def ways_in() -> WaysIn | None:
    """Return the demo's part of the log-in page; None unless DEBUG is set and the demo's people are here."""
    if not settings.DEBUG:
        return None
    people = here()
    if people[: len(PEOPLE)] != list(PEOPLE):
        return None
    has_history = any(each in COLLEAGUES for each in people)
    return WaysIn(people, TOUR if has_history else ())


def make_person(username: str, role: RoleName, staff: bool, name: str = "") -> User:
    """Return the demo's user of this name, created on first use."""
    person, made = User.objects.get_or_create(
        username=username,
        defaults={
            "is_staff": staff,
            "is_superuser": username == "admin",
            "first_name": name,
        },
    )
    if made:
        person.set_password(PASSWORD)
        person.save(update_fields=["password"])
        give_roles(person, [role])
    return person
