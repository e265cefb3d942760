"""The pages of Slack: its set-up for administrators, and the links of accounts for everyone."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.administration.changes.views import say_saved
from approvals.administration.channels import actions
from approvals.administration.forms import form_page, sent
from approvals.administration.guards import administrators_only
from approvals.administration.notification_rules.queries import rules
from approvals.channels.pages import post_test_card, setup_context
from approvals.channels.slack import web_api
from approvals.channels.slack.forms import ConnectionForm, TestForm
from approvals.channels.slack.manifest import manifest
from approvals.channels.slack.states import socket_state_of, state_of, words_of
from approvals.channels.slack.web_api import SlackError
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import ChannelConnection
from approvals.states import Route

SLACK = ChannelConnection.Kind.SLACK


@sensitive_post_parameters("signing_secret", "bot_token", "app_token")
@administrators_only
@require_safe_or_POST
def setup(request: SignedIn) -> HttpResponse:
    """The manifest, the form of the connection, and its state."""
    form = ConnectionForm(sent(request))
    if form.is_valid():
        stored = _checked(form)
        if stored is not None:
            waits = actions.connect(stored, by=request.user)
            saved = _("Slack is connected. Send a test card to a channel.")
            say_saved(request, waits=waits is not None, saved=saved)
            return redirect("slack:setup")
    return _page(request, form=form)


def _checked(form: ConnectionForm) -> dict[str, Any] | None:
    """Return the connection that the tokens of a form are for, asked from Slack; None if the form has an error."""
    fields = form.cleaned_data
    try:
        body = web_api.call(fields["bot_token"], "auth.test")
    except SlackError as error:
        form.add_error("bot_token", words_of(error.code))
        return None
    if body.get("is_enterprise_install") is True:
        form.add_error("bot_token", words_of("enterprise_is_restricted"))
        return None
    team_id, team_name, bot_id = (
        str(body.get(name) or "") for name in ("team_id", "team", "user_id")
    )
    if not (team_id and team_name and bot_id and body.get("bot_id")):
        form.add_error("bot_token", words_of("not_a_bot"))
        return None
    secrets = ChannelSecrets(
        fields["bot_token"], fields["signing_secret"], fields["app_token"]
    )
    return {
        "kind": SLACK.value,
        "app_id": fields["app_id"],
        "team_id": team_id[:40],
        "team_name": team_name[:200],
        "bot_id": bot_id[:40],
        "secret": encrypted(secrets),
    }


@administrators_only
@require_POST
def send_test(request: SignedIn) -> HttpResponse:
    form = TestForm(request.POST)
    return post_test_card(request, SLACK, form, lambda: _page(request, test=form))


def _page(
    request: SignedIn,
    *,
    form: ConnectionForm | None = None,
    test: TestForm | None = None,
) -> HttpResponse:
    form = form or ConnectionForm()
    context = setup_context(SLACK, request.user)
    connection = context["connection"]
    context |= {
        "state": state_of(connection) if connection else "",
        "form": test if test is not None and test.errors else form,
        "connection_form": form,
        "test_form": test or TestForm(),
        "rules": rules().filter(route__in=[Route.SLACK, Route.BUTTONS]),
        "manifest": json.dumps(manifest(), indent=2),
        "socket_manifest": json.dumps(manifest(socket_mode=True), indent=2),
        "socket_state": socket_state_of(connection) if connection else "",
    }
    return form_page(request, "channels/slack.html", context)
