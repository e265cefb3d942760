"""Whether a change loosens what the desk asks of people: a second administrator then has to confirm it. Pure.

One function for each noun, over the stored forms before and after. Whatever is not clearly equal or stricter counts as
loosening: a strict change that is mistaken for a loose one costs a second look, the other mistake lets something through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from approvals.db.canonical_json import same_json
from approvals.models.policy.scopes import May
from approvals.policy.asks import AtDeadline
from approvals.states import Control, Kind, Priority, Width

Stored = Mapping[str, Any]

#: What of a rule says nothing about who decides what: how it is called, what the agent is told, and who is notified when.
_WORDS = frozenset({"name", "message"})
_NOTICES = frozenset({"reminders", "escalation", "working_hours", "channels"})
#: The members of `ask` that are stricter where they are set, and the one that is looser.
_STRICT, _LOOSE = frozenset({"veto", "typed_name", "fresh_sign_in"}), "with_requester"
#: When a decision needs a message, from never to always.
_REASONS = ("", "rejection", "always")
#: Who decides the calls of a tool, from the loosest to the strictest.
_CONTROLS = (Control.CONFIRM.value, "", Control.FOUR_EYES.value)
_PRIORITIES = ("", Priority.LOW.value, Priority.NORMAL.value, Priority.HIGH.value, Priority.CRITICAL.value)
_MAY = (May.SEE.value, May.ANSWER.value, May.DECIDE.value)


def policy_loosens(before: Stored, after: Stored) -> bool:
    """Return whether a policy lets through what the one before it held, or asks about it on weaker terms.

    It does not if its rules are those from before in their order, each at least as strict. New rules may stand among them that
    deny without a condition, because whatever these match is denied; and behind them rules that only ask for more, because
    these match nothing that a rule spoke of before.
    """
    if any(before.get(name, False) and not after.get(name, False) for name in ("four_eyes", "repeat_rejections")):
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
    """Return whether a rule asks on terms that are at least as strict as none."""
    ask = rule.get("ask", {})
    if rule["then"] != "ask" or ask.get(_LOOSE, False):
        return False
    if ask.get("deadline", {}).get("then") == AtDeadline.DEFAULT:
        return False
    return not ask.keys() - {*_STRICT, _LOOSE, "reason", "stages", "deadline", *_NOTICES}


def _as_strict(before: Stored, after: Stored) -> bool:
    """Return whether a rule matches the same as another one, and does with it what is at least as strict."""
    about = ("match", "when")
    if not same_json([before.get(name) or None for name in about], [after.get(name) or None for name in about]):
        return False
    if before["then"] != after["then"]:
        # A rule that asks is also about recoveries and questions, which no rule denies: later rules would ask about them.
        only_approvals = before["then"] == "allow" or list(before.get("match", {}).get("kinds", ())) == [Kind.APPROVAL]
        return only_approvals and _surely_denies(after)
    known = {"then", "ask", *about, *_WORDS}
    rest = [{name: value for name, value in rule.items() if name not in known} for rule in (before, after)]
    return same_json(*rest) and _asks_as_strictly(before.get("ask", {}), after.get("ask", {}))


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
    rest = [{name: value for name, value in ask.items() if name not in known} for ask in (before, after)]
    return same_json(*rest)


def _stages_as_strict(before: Sequence[Stored], after: Sequence[Stored]) -> bool:
    """Return whether the same groups have to give as many votes, or any groups where no one in particular had to."""
    if not before:
        return True
    if len(before) != len(after):
        return False
    return all(_stage_as_strict(*pair) for pair in zip(before, after, strict=True))


def _stage_as_strict(before: Stored, after: Stored) -> bool:
    if before.get("any", False) != after.get("any", False) or len(before["groups"]) != len(after["groups"]):
        return False
    return all(
        _people_of(old) == _people_of(new) and new.get("votes", 1) >= old.get("votes", 1)
        for old, new in zip(before["groups"], after["groups"], strict=True)
    )


def _people_of(group: Stored) -> tuple[Set[int], Set[int]]:
    return frozenset(group.get("people", ())), frozenset(group.get("teams", ()))


def voters_of(stored: Stored) -> tuple[Set[int], Set[int]]:
    """Return the people and the teams that vote under a stored policy, by id."""
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

    `others` says whether there are other scopes: the first one limits everyone, and without the last one nothing does.
    """
    if before is None:
        return others
    if after is None:
        return not others
    if not same_json(before["match"], after["match"]):
        return True
    if not (set(after["people"]) <= set(before["people"]) and set(after["teams"]) <= set(before["teams"])):
        return True
    if _MAY.index(after["may"]) > _MAY.index(before["may"]):
        return True
    return after["may"] == May.DECIDE and _above(after["limit"], before["limit"])


def tool_loosens(before: Stored, after: Stored) -> bool:
    """Return whether settings of a tool let more through than before.

    Key fields say which number is compared with limits, and what a grant of equal fields covers: every change of them counts.
    More secret fields count as stricter, because they only take from what people read.
    """
    if list(before["key_fields"]) != list(after["key_fields"]):
        return True
    if not set(after["secret_fields"]) >= set(before["secret_fields"]):
        return True
    if any(before[name] and not after[name] for name in ("reason_required", "no_grants")):
        return True
    if _rank(_PRIORITIES, after["min_priority"]) < _rank(_PRIORITIES, before["min_priority"]):
        return True
    if _rank(_CONTROLS, after["control"]) < _rank(_CONTROLS, before["control"]):
        return True
    if any(_above(after[name], before[name]) for name in ("grant_seconds", "grant_uses")):
        return True
    return _wider(before["grant_width"], after["grant_width"])


def _wider(before: int | None, after: int | None) -> bool:
    """Return whether grants may be wider. Without a width, it depends on the tool: then only the narrowest is surely none."""
    if before is None or after is None:
        return after not in {before, Width.INPUT}
    return after > before


def priorities_loosen(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether fewer priorities need a message for a rejection."""
    return not set(after) >= set(before)


def lists_loosen(before: Stored, after: Stored) -> bool:
    """Return whether the lists of a key leave more to the agent."""
    denied, gated, allowed = ((set(before[name]), set(after[name])) for name in ("denied", "gated", "allowed"))
    if not denied[1] >= denied[0] or not allowed[1] <= allowed[0]:
        return True
    return not gated[1] | denied[1] >= gated[0]


def teams_loosen(joined: Set[int], left: Set[int], *, named: Set[int], read: bool) -> bool:
    """Return whether a person may do more in other teams.

    `named` are the teams that a scope names or that vote; `read` says whether a rule reads the teams of requesters, which can
    make a difference for those who join and for those who leave.
    """
    return bool(joined & named) or (read and bool(joined | left))


def _rank(order: Sequence[str], value: str | None) -> int:
    return order.index(value or "")


def _above(after: float | None, before: float | None) -> bool:
    """Return whether a limit is higher than before; None is no limit."""
    if before is None:
        return False
    return after is None or after > before
