"""Answer a verified click or dialog of Slack within its three seconds: store it, open a dialog, or name the wrong fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from approvals.access.standing import Standing, standing_of
from approvals.actions.channels.clicks import NewClick, store_click
from approvals.actions.channels.connections import note_problem, secrets_of
from approvals.actions.checking import AnswerFacts, needs_reason
from approvals.asking.answers import Answer
from approvals.channels import dialogs
from approvals.channels.accounts import account_behind
from approvals.channels.content import content_of
from approvals.channels.slack import grants, modals, web_api
from approvals.channels.slack.payloads import (
    ForeignPayload,
    Interaction,
    MalformedPayload,
    is_own,
    parse_interaction,
)
from approvals.exceptions import Invalid
from approvals.forms.fields import FormControl
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, ChannelConnection
from approvals.models.channels import Shows
from approvals.queries.preferences import in_language_of, reason_rules
from approvals.states import Door, Verdict

#: Events that end the connection, and the problem that each means.
ENDS = {"app_uninstalled": "app_uninstalled", "tokens_revoked": "token_revoked"}


@dataclass(frozen=True, slots=True)
class ClickResponse:
    """The answer to Slack: a status, and a body if there is one."""

    status: int = 200
    body: JsonDict | None = None


def receive(connection: ChannelConnection, payload: object) -> ClickResponse:
    """Take a verified payload, and return the answer. When this returns, a click is stored.

    Nothing is decided here: `channels.clicks` carries it out, with the rights that its author has then.
    """
    try:
        interaction = parse_interaction(payload, connection)
    except MalformedPayload:
        return ClickResponse(400)
    except ForeignPayload:
        return ClickResponse(403)
    if interaction is None:
        return ClickResponse()
    click = interaction.click
    account = account_behind(connection, click.team_id, click.external_id)
    if account is None or not account.user.is_active or "request" not in click.data:
        return _stored(connection, click)
    with in_language_of(account.user_id):
        standing = standing_of(account.user)
        if interaction.state is None:
            return _clicked(connection, interaction, standing)
        return _submitted(connection, interaction, interaction.state, standing)


def _stored(
    connection: ChannelConnection, click: NewClick, **more: Any
) -> ClickResponse:
    store_click(connection, replace(click, data={**click.data, **more}))
    return ClickResponse()


def _clicked(
    connection: ChannelConnection, interaction: Interaction, standing: Standing
) -> ClickResponse:
    """Open the dialog that a button needs; store any other click, and one whose dialog cannot be opened."""
    request = _open_request(interaction.click, standing)
    view = None if request is None else _view(standing, request, interaction)
    if view is None:
        return _stored(connection, interaction.click)
    secrets = secrets_of(connection)
    try:
        web_api.call(
            secrets.bot_token if secrets else "",
            "views.open",
            seconds=web_api.SECONDS_IN_CLICK,
            trigger_id=interaction.trigger_id,
            view=view,
        )
    except web_api.SlackError:
        return _stored(connection, interaction.click, opened=False)
    return ClickResponse()


def _open_request(click: NewClick, standing: Standing) -> ApprovalRequest | None:
    return dialogs.open_request(
        UUID(click.data["request"]), click.data["digest"], standing
    )


def _view(
    standing: Standing, request: ApprovalRequest, interaction: Interaction
) -> JsonDict | None:
    content = content_of(request, Shows.INPUT)
    action = interaction.action
    if action not in content.answers:
        return None
    if action == "grant":
        with grants.in_zone_of(standing.pk):
            return grants.terms_dialog(standing, request, interaction.about)
    verdict = dialogs.VERDICTS.get(action)
    if verdict is None or (verdict == Verdict.APPROVE and not content.needs_message):
        return None
    fields = dialogs.fields_of(request, action)
    if fields is None:
        return None
    rules = reason_rules({request.tool_name})
    known = AnswerFacts(reason_required=rules.apply_to(request))
    required = needs_reason(request, Answer(verdict), known)
    return modals.modal(
        request, action, fields, required=required, about=interaction.about
    )


def _submitted(
    connection: ChannelConnection,
    interaction: Interaction,
    state: JsonMapping,
    standing: Standing,
) -> ClickResponse:
    """Store a submitted dialog, or return the errors of its fields, or the dialog that follows."""
    action = interaction.action
    click = interaction.click
    if action == "grant":
        view = _terms_stated(interaction, state, standing)
        return _stored(connection, click) if view is None else ClickResponse(body=view)
    fields: Sequence[FormControl] | None = ()
    values: dict[str, Any] = {}
    try:
        if action != "answer":
            values["comment"] = modals.message_in(state)
        if action == "give" and interaction.terms is not None:
            values["terms"] = interaction.terms
        if action in dialogs.WITH_FIELDS:
            request = _open_request(click, standing)
            fields = None if request is None else dialogs.fields_of(request, action)
            if request is None or fields is None:
                return _stored(connection, click)
            entered = modals.entered_in(fields, state)
            name, value = dialogs.value_in(request, action, fields, entered, Door.SLACK)
            values[name] = value
    except Invalid as refusal:
        errors = modals.errors_by_block(action, fields or (), refusal)
        return ClickResponse(body={"response_action": "errors", "errors": errors})
    return _stored(connection, click, **values)


def _terms_stated(
    interaction: Interaction, state: JsonMapping, standing: Standing
) -> JsonDict | None:
    """Return the answer to the submitted terms of a grant; None if none can be given any more."""
    request = _open_request(interaction.click, standing)
    if request is None or "grant" not in content_of(request, Shows.INPUT).answers:
        return None
    with grants.in_zone_of(standing.pk):
        return grants.confirmation(standing, request, state, interaction.about)


def receive_event(connection: ChannelConnection, body: object) -> ClickResponse:
    """Take a verified event. Of these, only the end of the app matters; a repeat changes nothing."""
    event = body.get("event") if isinstance(body, Mapping) else None
    kind = event.get("type") if isinstance(event, Mapping) else None
    own = isinstance(body, Mapping) and is_own(body, body.get("team_id"), connection)
    if own and kind in ENDS:
        note_problem(connection, ENDS[kind])
    return ClickResponse()
