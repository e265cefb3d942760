"""Administrators' actions on people, roles and teams, each on record."""

from approvals.administration.people.actions.in_admin import (
    record_admin_change,
    tell_of_new_address,
)
from approvals.administration.people.actions.invitations import (
    invite_person,
    withdraw_invitation,
)
from approvals.administration.people.actions.people import (
    add_person,
    allow_password_link,
    change_person,
    reset_factors,
    reset_factors_on_server,
    set_active,
)
from approvals.administration.people.actions.roles import create_roles, give_roles
from approvals.administration.people.actions.single_sign_on import (
    add_from_provider,
    follow_address,
    follow_groups,
    follow_scim_groups,
    link_to_provider,
)
from approvals.administration.people.actions.teams import (
    add_team,
    change_team,
    remove_team,
)

__all__ = [
    "add_from_provider",
    "add_person",
    "add_team",
    "allow_password_link",
    "change_person",
    "change_team",
    "create_roles",
    "follow_address",
    "follow_groups",
    "follow_scim_groups",
    "give_roles",
    "invite_person",
    "link_to_provider",
    "record_admin_change",
    "remove_team",
    "reset_factors",
    "reset_factors_on_server",
    "set_active",
    "tell_of_new_address",
    "withdraw_invitation",
]
