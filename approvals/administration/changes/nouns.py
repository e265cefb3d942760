"""Every kind of change that can wait for a second administrator."""

from __future__ import annotations

from collections.abc import Mapping

from approvals.administration.changes import keys, people, terms
from approvals.administration.changes.noun import Noun
from approvals.models import PendingChange

Kind = PendingChange.Kind

NOUNS: Mapping[str, Noun] = {
    Kind.ROLES: people.ROLES,
    Kind.ROLE_TAKEN: people.ROLE_TAKEN,
    Kind.RIGHTS: people.RIGHTS,
    Kind.EMAIL: people.EMAIL,
    Kind.LINK: people.LINK,
    Kind.TEAMS: people.TEAMS,
    Kind.KEY: keys.KEY,
    Kind.KEY_LISTS: keys.KEY_LISTS,
    Kind.TOOL: terms.TOOL,
    Kind.PRIORITIES: terms.PRIORITIES,
    Kind.SCOPE: terms.SCOPE,
    Kind.POLICY: terms.POLICY,
}
