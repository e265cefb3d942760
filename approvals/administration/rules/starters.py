"""Templates that fill the form of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from approvals.administration.people.queries import teams
from approvals.models.people import RoleName

Rule = dict[str, Any]


def starters() -> list[Rule]:
    """Return rules to start from, named in the reader's language. They name teams of this installation where it has them."""
    finance = _group("finance")
    security = _group("security")
    large = {"tools": ["pay*"], "input": [_amount(at_least=1000)]}
    return [
        _asks(_("Two people over an amount"), large, [{"groups": [{"votes": 2}]}]),
        _asks(_("Finance and security over an amount"), large, [{"groups": [finance, security]}]),
        _asks(_("First the team, then an administrator"), {"tools": ["sign*"]},
              [{"groups": [finance]}, {"groups": [{"roles": [RoleName.ADMINISTRATOR]}]}]),
        {"name": _("Small amounts pass"), "then": "allow",
         "match": {"tools": ["refund*"], "input": [_amount(at_most=50)]}},
        {"name": _("Email to our own domain passes"), "then": "allow",
         "match": {"tools": ["sendEmail"],
                   "input": [{"pointer": "", "members": ["to", "subject", "text"]},
                             {"pointer": "/to", "type": "addresses", "like": "*@example.com"},
                             {"pointer": "/subject", "type": "line"}, {"pointer": "/text", "type": "text"}]}},
        {"name": _("Read-only calls pass"), "then": "allow",
         "match": {"tools": ["get*", "list*", "read*", "search*"]}},
        {"name": _("Nothing is deleted"), "then": "deny", "match": {"tools": ["delete*", "drop*", "remove*"]},
         "message": _("Archive it instead.")},
        _asks(_("Two people at night"), {"tools": ["pay*"]}, [{"groups": [{"votes": 2}]}],
              when="hour < 7 || hour >= 19"),
        _asks(_("A decision within a day"), {}, [], reminders=[4 * 3600], working_hours=True,
              deadline={"after": 86_400, "then": "halt"},
              escalation=[{"after": 8 * 3600, "roles": [RoleName.ADMINISTRATOR]}]),
        _asks(_("Commands with care"), {"tools": ["Bash", "*shell*"]}, [], typed_name=True, fresh_sign_in=True,
              reason="always", priority="high"),
    ]  # fmt: skip


def _asks(
    name: str, match: Rule, stages: Sequence[Rule], when: str = "", **ask: Any
) -> Rule:
    asking = {"stages": stages, **ask}
    return {"name": name, "match": match, "when": when, "then": "ask", "ask": asking}


def _amount(**range_: int) -> Rule:
    return {"pointer": "/amount", "type": "amount", **range_}


def _group(name: str) -> Rule:
    """Return the team of this name as a group of voters; without one, all approvers."""
    team = teams().filter(name__iexact=name).first()
    return {"roles": [RoleName.APPROVER]} if team is None else {"teams": [team.name]}
