"""Absences and on-call people over REST."""

from __future__ import annotations

from typing import Annotated

from ninja import Query, Router
from ninja.responses import Status as Answer
from pydantic import BaseModel, Field

from approvals import queries
from approvals.access.callers import Caller
from approvals.actions.policy import absence as absence_actions
from approvals.actions.policy.absence import Away
from approvals.actions.policy.duty import on_call
from approvals.actions.policy.duty.on_call import MOST
from approvals.api.bodies import Document, Moment, shown_with
from approvals.api.rest.operations import JsonBody, operation, problems
from approvals.api.rest.paging import Limit
from approvals.api.rest.people_documents import UserName
from approvals.models import Absence
from approvals.models.policy.absence import MAX_REASON
from approvals.queries.policy.absence import absences_seen_by
from approvals.states import Door
from approvals.text.secrets import mask_text

router = Router(tags=["Absences"])


class AbsenceDocument(BaseModel):
    """A period in which a person is away."""

    id: int
    person: str
    delegate: str | None = Field(
        description="The delegate, who decides for the person meanwhile; null if there is none."
    )
    starts_at: Moment
    until: Moment
    reason: str
    set_by: str


class Absences(BaseModel):
    """Absences that have not ended, in order of their start."""

    items: list[AbsenceDocument]


class WantedAbsences(Document):
    limit: Limit = 50


class NewAbsence(Document):
    """An absence. Leave out `delegate` for the default delegate of a team, if there is one; null is no one."""

    model_config = shown_with(
        {"until": "2026-11-30T17:00:00Z", "delegate": "carol", "reason": "On vacation."}
    )

    person: UserName | None = Field(
        None, description="A username; null for the key's user. Others: administrators."
    )
    delegate: UserName | None = Field(
        None, description="The name of an active user who may decide requests."
    )
    starts_at: Moment | None = Field(None, description="Null to start now.")
    until: Moment = Field(description="Within a year.")
    reason: Annotated[
        str,
        Field(
            max_length=MAX_REASON,
            description="Shown to the delegate and administrators.",
        ),
    ] = ""


class NewReturn(Document):
    """The end of an absence; it has no fields."""

    model_config = shown_with({})


class NewDuty(Document):
    """The members of a team who are on call from now on."""

    model_config = shown_with(
        {"team": "finance", "people": ["bob"], "until": "2026-11-30T09:00:00Z"}
    )

    team: UserName = Field(description="The name of the team.")
    people: list[UserName] = Field(
        max_length=MOST, description="Usernames of members; none for everyone."
    )
    until: Moment = Field(
        description="Within 31 days. After it, everyone in the team is notified."
    )


class DutyDocument(BaseModel):
    """The members of a team who are on call."""

    team: str
    people: list[str]
    until: Moment


@router.post(
    "/on-duty",
    response=DutyDocument,
    summary="Set who is on call",
    openapi_extra=problems(400, 404, 409, 413, 415),
)
@operation("absence")
def set_on_duty(
    caller: Caller, sent: Annotated[NewDuty, JsonBody(...)]
) -> DutyDocument:
    """Needs the scope `absence`, and an administrator. Only people on call are notified of the team's requests; others may still
    decide. Replaces the previous list. 409 if a calendar sets who is on call.
    """
    people = [queries.user_named(name) for name in sent.people]
    row = on_call.set_on_duty(
        sent.team, people, sent.until, by=caller.actor, via=Door.REST
    )
    return DutyDocument(
        team=row.team.name, people=[each["name"] for each in row.duty], until=sent.until
    )


@router.get(
    "/absences", response=Absences, summary="List absences", openapi_extra=problems()
)
@operation("read", query=WantedAbsences)
def list_absences(
    caller: Caller, wanted: Annotated[WantedAbsences, Query(...)]
) -> Absences:
    """Needs the scope `read`. Returns the absences of the user and of people for whom they decide; of administrators, all."""
    return Absences(
        items=[
            _document(row) for row in absences_seen_by(caller.standing)[: wanted.limit]
        ]
    )


@router.post(
    "/absences",
    response={201: AbsenceDocument},
    summary="Set an absence",
    openapi_extra=problems(400, 409, 413, 415),
)
@operation("absence")
def create_absence(
    caller: Caller, sent: Annotated[NewAbsence, JsonBody(...)]
) -> Answer[AbsenceDocument]:
    """Needs the scope `absence`. Administrators can set it for others, but not name themselves as the delegate. 409 if the person
    is away already at some of the time.
    """
    away = Away(
        starts_at=sent.starts_at,
        until=sent.until,
        delegate=None if sent.delegate is None else queries.user_named(sent.delegate),
        by_default="delegate" not in sent.model_fields_set,
        reason=sent.reason,
    )
    person = caller.user if sent.person is None else queries.user_named(sent.person)
    return Answer(
        201,
        _document(
            absence_actions.set_absence(person, away, by=caller.actor, via=Door.REST)
        ),
    )


@router.post(
    "/absences/{int:absence_id}/end",
    response=AbsenceDocument,
    summary="End an absence",
    openapi_extra=problems(400, 404, 413, 415),
)
@operation("absence")
def end_absence(
    caller: Caller, absence_id: int, sent: Annotated[NewReturn, JsonBody(...)]
) -> AbsenceDocument:
    """Needs the scope `absence`. Ends an absence of the user, or cancels one that has not started; administrators also those of
    others. Returns the absence as it was.
    """
    return _document(
        absence_actions.end_absence(absence_id, by=caller.actor, via=Door.REST)
    )


def _document(absence: Absence) -> AbsenceDocument:
    return AbsenceDocument(
        id=absence.pk,
        person=absence.person.get_username(),
        delegate=absence.delegate.get_username() if absence.delegate else None,
        starts_at=absence.starts_at,
        until=absence.until,
        reason=mask_text(absence.reason),
        set_by=absence.set_by_name,
    )
