"""Answer a verified click or dialog of Slack within its three seconds: store it, open a dialog, or name the wrong fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from approvals.actions.channels.clicks import NewClick, store_click
from approvals.actions.channels.connections import note_problem, secrets_of
from approvals.actions.checking import AnswerFacts, needs_reason
from approvals.asking.answers import Answer
from approvals.channels import dialogs
from approvals.channels.accounts import actor_behind
from approvals.channels.content import content_of
from approvals.channels.slack import modals, web_api
from approvals.channels.slack.payloads import (
    ForeignPayload,
    Interaction,
    MalformedPayload,
    is_own,
    parse_interaction,
)
from approvals.exceptions import Invalid
from approvals.forms.fields import FormControl
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest, ChannelConnection
from approvals.models.actors import ChannelActor
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
    if not interaction.action:
        return ClickResponse()
    actor = actor_behind(connection, interaction.team_id, interaction.external_id)
    if actor is None or interaction.request_id is None:
        return _stored(connection, interaction)
    with in_language_of(actor.pk):
        if interaction.state is not None:
            return _submitted(connection, interaction, actor)
        return _clicked(connection, interaction, actor)


def _stored(
    connection: ChannelConnection, interaction: Interaction, **more: Any
) -> ClickResponse:
    data: dict[str, Any] = {"action": interaction.action, **more}
    if interaction.request_id is not None:
        data["request"] = str(interaction.request_id)
        data["digest"] = interaction.digest
    if interaction.action == "option":
        data["option"] = interaction.option
    click = NewClick(
        key=interaction.key,
        team_id=interaction.team_id,
        external_id=interaction.external_id,
        channel_id=interaction.channel_id,
        message_ts=interaction.message_ts,
        data=data,
    )
    store_click(connection, click)
    return ClickResponse()


def _clicked(
    connection: ChannelConnection, interaction: Interaction, actor: ChannelActor
) -> ClickResponse:
    """Open the dialog that a button needs; store any other click, and one whose dialog cannot be opened."""
    request = _open_request(interaction, actor)
    view = None if request is None else _view(request, interaction)
    if view is None:
        return _stored(connection, interaction)
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
        return _stored(connection, interaction, opened=False)
    return ClickResponse()


def _open_request(
    interaction: Interaction, actor: ChannelActor
) -> ApprovalRequest | None:
    assert interaction.request_id is not None
    return dialogs.open_request(interaction.request_id, interaction.digest, actor)


def _view(request: ApprovalRequest, interaction: Interaction) -> JsonDict | None:
    content = content_of(request, Shows.INPUT)
    action = interaction.action
    if action not in content.answers:
        return None
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
    connection: ChannelConnection, interaction: Interaction, actor: ChannelActor
) -> ClickResponse:
    """Store a submitted dialog, or return the errors of its fields."""
    assert interaction.state is not None
    action = interaction.action
    fields: Sequence[FormControl] | None = ()
    values: dict[str, Any] = {}
    try:
        if action != "answer":
            values["comment"] = modals.message_in(interaction.state)
        if action in dialogs.WITH_FIELDS:
            request = _open_request(interaction, actor)
            fields = None if request is None else dialogs.fields_of(request, action)
            if request is None or fields is None:
                return _stored(connection, interaction)
            entered = modals.entered_in(fields, interaction.state)
            name, value = dialogs.value_in(request, action, fields, entered, Door.SLACK)
            values[name] = value
    except Invalid as refusal:
        errors = modals.errors_by_block(action, fields or (), refusal)
        return ClickResponse(200, {"response_action": "errors", "errors": errors})
    return _stored(connection, interaction, **values)


def receive_event(connection: ChannelConnection, body: object) -> ClickResponse:
    """Take a verified event. Of these, only the end of the app matters; a repeat changes nothing."""
    event = body.get("event") if isinstance(body, Mapping) else None
    kind = event.get("type") if isinstance(event, Mapping) else None
    if isinstance(body, Mapping) and is_own(body, connection) and kind in ENDS:
        note_problem(connection, ENDS[kind])
    return ClickResponse()
