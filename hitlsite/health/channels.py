"""The line of the System page on the channels in which people answer."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import ngettext

from approvals.channels.relay.states import state_of as relay_state_of
from approvals.channels.slack.states import socket_state_of
from approvals.channels.states import state_of
from approvals.models import ChannelConnection
from approvals.models.channels import SocketState
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
        socket = connection.socket_state not in {"", SocketState.CONNECTED}
        relay = connection.kind == ChannelConnection.Kind.RELAY
        words_for = relay_state_of if relay else state_of
        words = [words_for(connection)] if connection.problem else []
        words += [socket_state_of(connection)] if socket else []
        state = WARN if words else OK
        yield SystemPart(
            connection.get_kind_display(), state, summary, visible(" ".join(words))
        )
