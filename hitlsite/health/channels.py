"""The line of the System page on the channels in which people answer."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import ngettext

from approvals.channels.slack.states import state_of
from approvals.models import ChannelConnection
from approvals.text.text import visible
from hitlsite.health.parts import OK, WARN, SystemPart


def channels() -> Iterator[SystemPart]:
    for connection in ChannelConnection.objects.all():
        number = connection.accounts.count()
        linked = ngettext(
            "%(count)d linked account", "%(count)d linked accounts", number
        )
        name = visible(connection.team_name)
        summary = f"{name}: {linked % {'count': number}}"
        if connection.problem:
            advice = visible(state_of(connection))
            yield SystemPart("Slack", WARN, summary, advice)
        else:
            yield SystemPart("Slack", OK, summary)
