"""The registry of changes that can need a second administrator."""

from __future__ import annotations

from collections.abc import Mapping

from approvals.administration.changes import (
    channels,
    engines,
    issuers,
    keys,
    people,
    sign_in,
    terms,
)
from approvals.administration.changes.noun import Noun
from approvals.models import PendingChange

Kind = PendingChange.Kind

NOUNS: Mapping[str, Noun] = {
    Kind.ROLES: people.Roles(),
    Kind.ROLE_TAKEN: people.RoleTaken(),
    Kind.RIGHTS: people.Rights(),
    Kind.EMAIL: people.Email(),
    Kind.LINK: people.Link(),
    Kind.FACTORS: people.Factors(),
    Kind.TEAMS: people.Teams(),
    Kind.KEY: keys.Key(),
    Kind.KEY_LISTS: keys.KeyLists(),
    Kind.TOOL: terms.Tool(),
    Kind.PRIORITIES: terms.Priorities(),
    Kind.SCOPE: terms.Scope(),
    Kind.POLICY: terms.Policy(),
    Kind.GROUP_MAPPING: sign_in.GroupMappings(),
    Kind.PROVIDER: sign_in.Providers(),
    Kind.TOKEN_ISSUER: issuers.TokenIssuers(),
    Kind.TOKEN_MAPPING: issuers.TokenMappings(),
    Kind.CHANNEL: channels.Connection(),
    Kind.RELAY: channels.RelaySettings(),
    Kind.ENGINE: engines.Engines(),
}
