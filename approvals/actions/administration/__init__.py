"""What administrators do: people, roles and teams, webhooks, notification rules and tools. Each change is on record."""

from approvals.actions.administration.confirming import confirm_change, withdraw_change
from approvals.actions.administration.in_admin import record_admin_change, tell_of_new_address
from approvals.actions.administration.invitations import invite_person, withdraw_invitation
from approvals.actions.administration.people import (
    add_person,
    add_team,
    allow_password_link,
    change_person,
    change_team,
    remove_team,
    set_active,
)
from approvals.actions.administration.roles import create_roles, give_roles
from approvals.actions.administration.rules import remove_rule, store_rule
from approvals.actions.administration.tools import store_strict_priorities, store_tool_settings
from approvals.actions.administration.webhooks import remove_endpoint, rotate_secret, store_endpoint

__all__ = [
    "add_person",
    "add_team",
    "allow_password_link",
    "change_person",
    "change_team",
    "confirm_change",
    "create_roles",
    "give_roles",
    "invite_person",
    "record_admin_change",
    "remove_endpoint",
    "remove_rule",
    "remove_team",
    "rotate_secret",
    "set_active",
    "store_endpoint",
    "store_rule",
    "store_strict_priorities",
    "store_tool_settings",
    "tell_of_new_address",
    "withdraw_change",
    "withdraw_invitation",
]
