"""Detect changes that loosen control, which a second administrator has to confirm. Pure.

One function per noun compares the stored forms before and after. Anything not clearly equal or stricter counts as loosening: a
false alarm costs a second look, while the opposite mistake lets something through.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from approvals.db.canonical_json import same_json
from approvals.json_types import JsonMapping
from approvals.models.policy.scopes import May
from approvals.policy.asks import AtDeadline
from approvals.states import Control, Kind, Priority, Width

Stored = JsonMapping

#: Parts of a rule that do not affect decisions: its name, the message to the agent, and notifications.
_WORDS = frozenset({"name", "message"})
_NOTICES = frozenset({"reminders", "escalation", "working_hours", "channels"})
#: Members of `ask` that are stricter when set, and the one that is looser.
_STRICT = frozenset({"veto", "typed_name", "fresh_sign_in"})
_LOOSE = "with_requester"
#: When a decision needs a message, from never to always.
_REASONS = ("", "rejection", "always")
#: Control over the calls of a tool, from loosest to strictest.
_CONTROLS = (Control.CONFIRM.value, "", Control.FOUR_EYES.value)
_PRIORITIES = (
    "",
    Priority.LOW.value,
    Priority.NORMAL.value,
    Priority.HIGH.value,
    Priority.CRITICAL.value,
)
_MAY = (May.SEE.value, May.ANSWER.value, May.DECIDE.value)


def policy_loosens(before: Stored, after: Stored) -> bool:
    """Return whether a policy lets through calls that the previous one held, or asks on weaker terms.

    It does not loosen if it keeps the previous rules in order, each at least as strict. New rules may be inserted if they deny
    unconditionally, because everything they match is denied; and appended if they only ask for more, because they match only
    requests that no earlier rule matched.
    """
    if any(
        before.get(name, False) and not after.get(name, False)
        for name in ("four_eyes", "repeat_rejections")
    ):
        return True
    left = list(before.get("rules", ()))
    for rule in after.get("rules", ()):
        if left and _as_strict(left[0], rule):
            left.pop(0)
        elif not (_surely_denies(rule) or (not left and _only_asks_for_more(rule))):
            return True
    return bool(left)


def _surely_denies(rule: Stored) -> bool:
    return rule["then"] == "deny" and "when" not in rule


def _only_asks_for_more(rule: Stored) -> bool:
    """Return whether a rule asks on terms at least as strict as the defaults."""
    ask = rule.get("ask", {})
    if rule["then"] != "ask" or ask.get(_LOOSE, False):
        return False
    if ask.get("deadline", {}).get("then") == AtDeadline.DEFAULT:
        return False
    return not ask.keys() - {
        *_STRICT,
        _LOOSE,
        "reason",
        "stages",
        "deadline",
        *_NOTICES,
    }


def _as_strict(before: Stored, after: Stored) -> bool:
    """Return whether two rules match the same requests and `after` treats them at least as strictly."""
    about = ("match", "when")
    if not same_json(
        [before.get(name) or None for name in about],
        [after.get(name) or None for name in about],
    ):
        return False
    if before["then"] != after["then"]:
        # An `ask` rule also covers recoveries and questions, which no rule can deny: later rules would then apply to them.
        only_approvals = before["then"] == "allow" or list(
            before.get("match", {}).get("kinds", ())
        ) == [Kind.APPROVAL]
        return only_approvals and _surely_denies(after)
    known = {"ask", *about, *_WORDS}
    rest = [
        {name: value for name, value in rule.items() if name not in known}
        for rule in (before, after)
    ]
    return same_json(*rest) and _asks_as_strictly(
        before.get("ask", {}), after.get("ask", {})
    )


def _asks_as_strictly(before: Stored, after: Stored) -> bool:
    for name in _STRICT:
        if before.get(name, False) and not after.get(name, False):
            return False
    if after.get(_LOOSE, False) and not before.get(_LOOSE, False):
        return False
    if _rank(_REASONS, after.get("reason")) < _rank(_REASONS, before.get("reason")):
        return False
    if not _stages_as_strict(before.get("stages", ()), after.get("stages", ())):
        return False
    known = {*_STRICT, _LOOSE, "reason", "stages", *_NOTICES}
    rest = [
        {name: value for name, value in ask.items() if name not in known}
        for ask in (before, after)
    ]
    return same_json(*rest)


def _stages_as_strict(before: Sequence[Stored], after: Sequence[Stored]) -> bool:
    """Return whether the same groups need at least as many votes, or no particular group was needed before."""
    if not before:
        return True
    if len(before) != len(after):
        return False
    return all(_stage_as_strict(*pair) for pair in zip(before, after, strict=True))


def _stage_as_strict(before: Stored, after: Stored) -> bool:
    if before.get("any", False) != after.get("any", False) or len(
        before["groups"]
    ) != len(after["groups"]):
        return False
    return all(
        _people_of(old) == _people_of(new)
        and new.get("votes", 1) >= old.get("votes", 1)
        for old, new in zip(before["groups"], after["groups"], strict=True)
    )


def _people_of(group: Stored) -> tuple[Set[int], Set[int]]:
    return frozenset(group.get("people", ())), frozenset(group.get("teams", ()))


def voters_of(stored: Stored) -> tuple[Set[int], Set[int]]:
    """Return the ids of the people and teams that vote under a stored policy."""
    groups = [
        group
        for rule in stored.get("rules", ())
        for stage in rule.get("ask", {}).get("stages", ())
        for group in stage["groups"]
    ]
    people, teams = zip(*map(_people_of, groups), strict=True) if groups else ((), ())
    return frozenset().union(*people), frozenset().union(*teams)


def scope_loosens(before: Stored | None, after: Stored | None, *, others: bool) -> bool:
    """Return whether a scope lets anyone see, answer or decide more than before; None stands for no scope.

    `others` says whether other scopes exist: the first scope limits everyone, and removing the last one lifts all limits.
    """
    if before is None:
        return others
    if after is None:
        return not others
    if not same_json(before["match"], after["match"]):
        return True
    if not (
        set(after["people"]) <= set(before["people"])
        and set(after["teams"]) <= set(before["teams"])
    ):
        return True
    if _MAY.index(after["may"]) > _MAY.index(before["may"]):
        return True
    return after["may"] == May.DECIDE and _above(after["limit"], before["limit"])


def tool_loosens(before: Stored, after: Stored) -> bool:
    """Return whether a tool's settings let more through than before.

    Any change of key fields counts, because they determine the number compared with limits and the coverage of grants. More
    secret fields count as stricter, because they only hide values.
    """
    if list(before["key_fields"]) != list(after["key_fields"]):
        return True
    if not set(after["secret_fields"]) >= set(before["secret_fields"]):
        return True
    if any(
        before[name] and not after[name] for name in ("reason_required", "no_grants")
    ):
        return True
    if _rank(_PRIORITIES, after["min_priority"]) < _rank(
        _PRIORITIES, before["min_priority"]
    ):
        return True
    if _rank(_CONTROLS, after["control"]) < _rank(_CONTROLS, before["control"]):
        return True
    if any(
        _above(after[name], before[name]) for name in ("grant_seconds", "grant_uses")
    ):
        return True
    return _wider(before["grant_width"], after["grant_width"])


def _wider(before: int | None, after: int | None) -> bool:
    """Return whether grants may be broader. Without a width, it depends on the tool; only the narrowest is surely no broader."""
    if before is None or after is None:
        return after not in {before, Width.INPUT}
    return after > before


def priorities_loosen(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether fewer priorities need a message on rejection."""
    return not set(after) >= set(before)


def lists_loosen(before: Stored, after: Stored) -> bool:
    """Return whether the lists of a key leave more calls to the agent."""
    denied, gated, allowed = (
        (set(before[name]), set(after[name])) for name in ("denied", "gated", "allowed")
    )
    if not denied[1] >= denied[0] or not allowed[1] <= allowed[0]:
        return True
    return not gated[1] | denied[1] >= gated[0]


def teams_loosen(
    joined: Set[int], left: Set[int], *, named: Set[int], read: bool
) -> bool:
    """Return whether a change of teams may let a person do more.

    `named` are the teams named by a scope or a vote. `read` is true if a rule reads requesters' teams, where both joining and
    leaving can matter.
    """
    return bool(joined & named) or (read and bool(joined | left))


def provider_loosens(before: Stored | None, after: Stored) -> bool:
    """Return whether more people may log in at a provider, or it may be at more addresses; None stands for no provider."""
    if before is None or before["client_id"] != after["client_id"]:
        return True
    return any(
        after[name] and not before[name] for name in ("link_by_email", "private")
    )


def issuer_loosens(before: Stored | None, after: Stored) -> bool:
    """Return whether more tokens of an issuer may be accepted; None stands for no issuer."""
    if before is None:
        return True
    if any(before[name] != after[name] for name in ("audience", "keys_url")):
        return True
    return (
        not set(after["algorithms"]) <= set(before["algorithms"])
        or any(before[name] and not after[name] for name in ("scoped", "disabled"))
        or any(after[name] and not before[name] for name in ("any_type", "private"))
    )


def engine_loosens(before: Stored | None, after: Stored) -> bool:
    """Return whether decisions, or the credential, may go elsewhere than before; None stands for no engine."""
    if before is None:
        return True
    return (
        any(before[name] != after[name] for name in ("kind", "url", "route"))
        or (after["private"] and not before["private"])
        or (before["disabled"] and not after["disabled"])
    )


def mapping_loosens(*, added: bool, others: bool) -> bool:
    """Return whether a change of a group mapping may let people do more.

    `others` says whether other mappings give the same: if none does, it is no longer taken from anyone at their log-in.
    """
    return added or not others


def _rank(order: Sequence[str], value: str | None) -> int:
    return order.index(value or "")


def _above(after: float | None, before: float | None) -> bool:
    """Return whether a limit is higher than before; None means no limit."""
    if before is None:
        return False
    return after is None or after > before
