"""Matches and rules in sentences, in the reader's language."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.db.json_pointer import pointer_parts
from approvals.policy.asks import Asking, AtDeadline
from approvals.policy.globs import plain_test
from approvals.policy.grants import length
from approvals.policy.input_conditions import (
    Between,
    InputCondition,
    Like,
    Members,
    OneOf,
    StartsWith,
    Typed,
    shortened,
)
from approvals.policy.match import Match
from approvals.policy.rules import REPEAT_DAYS, Policy, Rule, Then
from approvals.policy.terms import MessageRule, People, Stage, VoterGroup
from approvals.policy.value_types import ValueType
from approvals.states import ORIGINS, Kind, Priority
from approvals.text.numbers import grouped
from approvals.text.text import visible
from approvals.text.translation import quoted, translated

#: Maximum number of list items in a sentence.
LISTED = 5

_KINDS = {
    Kind.APPROVAL: gettext_lazy("approvals"),
    Kind.QUESTION: gettext_lazy("questions"),
    Kind.FORM: gettext_lazy("forms"),
    Kind.RECOVERY: gettext_lazy("unknown outcomes"),
}
CHANNELS = {
    "mail": gettext_lazy("mail"),
    "slack": "Slack",
    "teams": "Microsoft Teams",
    "push": gettext_lazy("push message"),
    "relay": gettext_lazy("relay"),
}


TYPES = {
    ValueType.ADDRESS: gettext_lazy("one email address"),
    ValueType.ADDRESSES: gettext_lazy("a list of email addresses"),
    ValueType.AMOUNT: gettext_lazy("a number that is not negative"),
    ValueType.PATH: gettext_lazy("one path"),
    ValueType.HOST: gettext_lazy("a host"),
    ValueType.LINE: gettext_lazy("one line of text"),
    ValueType.TEXT: gettext_lazy("text"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of people and of groups (teams and roles) by id."""

    people: Mapping[int, str] = field(default_factory=dict)
    groups: Mapping[int, str] = field(default_factory=dict)

    def of(self, people: People) -> list[str]:
        named = [self.people.get(pk, f"#{pk}") for pk in people.people]
        return [*named, *(self.groups.get(pk, f"#{pk}") for pk in people.teams)]


def requests_in_words(match: Match, names: Names) -> str:
    """Describe the requests of a match, such as “calls of refund by the agent billing whose amount is at most 100”."""
    parts = [
        _what(match),
        _part(match.servers, _("on the MCP server %(names)s")),
        _part(match.agents, _("by the agent %(names)s")),
        _part(
            [names.people.get(pk, f"#{pk}") for pk in match.requesters],
            _("from %(names)s"),
        ),
        _part(match.on_behalf_of, _("on behalf of %(names)s")),
        _part(
            [str(ORIGINS.get(source, source)) for source in match.sources],
            _("that come through %(names)s"),
        ),
        _part(
            [str(Priority(each).label) for each in match.priorities],
            _("with the priority %(names)s"),
        ),
        _part(
            [condition_in_words(each) for each in match.conditions],
            _("whose %(names)s"),
            joined_by_and,
        ),
    ]
    return " ".join(filter(None, parts))


def condition_in_words(condition: InputCondition) -> str:
    """Describe a condition on the input, such as “amount is at most 100”."""
    name = visible(".".join(pointer_parts(condition.pointer))) or _("input")
    text, values = _tested(condition.test)
    return text % ({"name": name} | values)


def rule_in_words(rule: Rule, names: Names) -> list[str]:
    """Describe a rule in sentences, without its condition and message."""
    templates = {
        Then.ALLOW: _("Allows %(requests)s without asking."),
        Then.DENY: _("Denies %(requests)s without asking."),
        Then.ASK: _("Asks people about %(requests)s."),
    }
    sentences = [
        templates[rule.then] % {"requests": requests_in_words(rule.match, names)}
    ]
    if rule.then == Then.ASK:
        return [*sentences, *_asking_in_words(rule.ask or Asking(), names)]
    if rule.ask is None:
        return sentences
    return [
        *sentences,
        _("If it is not certain that this matches, people are asked:"),
        *_asking_in_words(rule.ask, names),
    ]


def whole_rule_in_words(rule: Rule, names: Names) -> list[str]:
    """Describe all parts of a rule in sentences."""
    first, *rest = rule_in_words(rule, names)
    when = (
        [_("Only if: %(condition)s") % {"condition": visible(rule.when.text)}]
        if rule.when is not None
        else []
    )
    message = (
        [_("Message: “%(message)s”") % {"message": visible(rule.message)}]
        if rule.message
        else []
    )
    return [first, *when, *rest, *message]


def otherwise_in_words(policy: Policy) -> list[str]:
    """Describe the settings of a policy outside its rules."""
    sentences = [
        _("If no rule matches, people are asked, but never the requester.")
        if policy.four_eyes
        else _("If no rule matches, people are asked.")
    ]
    if policy.repeat_rejections:
        text = _(
            "A request that a person rejected in the last %(days)s days is rejected again if it is repeated "
            "unchanged."
        )
        sentences.append(text % {"days": REPEAT_DAYS})
    return sentences


def _what(match: Match) -> str:
    kinds = joined_by_and([str(_KINDS[Kind(kind)]) for kind in match.kinds])
    tools = joined_by_or([visible(tool) for tool in match.tools])
    if not tools:
        return kinds or (_("requests") if _is_narrow(match) else _("all requests"))
    if not kinds:
        return _("calls of %(tools)s") % {"tools": tools}
    return _("%(kinds)s about %(tools)s") % {"kinds": kinds, "tools": tools}


def _is_narrow(match: Match) -> bool:
    return match != Match()


def _part(
    items: Sequence[str], text: str, join: Callable[[Sequence[str]], str] | None = None
) -> str:
    return (
        text % {"names": (join or joined_by_or)([visible(item) for item in items])}
        if items
        else ""
    )


def _tested(test: Any) -> tuple[str, dict[str, str]]:
    """Return the text of a test, and the values of its placeholders except the name."""
    match test:
        case OneOf(values=values):
            return _("%(name)s is %(value)s"), {
                "value": joined_by_or(_first([_value(value) for value in values]))
            }
        case Between(more_than=float() | int() as limit):
            return _("%(name)s is more than %(value)s"), {"value": _value(limit)}
        case Between(less_than=float() | int() as limit):
            return _("%(name)s is less than %(value)s"), {"value": _value(limit)}
        case Between(at_least=None, at_most=most):
            return _("%(name)s is at most %(value)s"), {"value": _value(most)}
        case Between(at_least=least, at_most=None):
            return _("%(name)s is at least %(value)s"), {"value": _value(least)}
        case Between(at_least=least, at_most=most):
            return _("%(name)s is from %(least)s to %(most)s"), {
                "least": _value(least),
                "most": _value(most),
            }
        case StartsWith(text=text):
            return _("%(name)s starts with %(value)s"), {"value": _value(text)}
        case Like(glob=glob):
            test, text = plain_test(glob.text)
            return str(_LIKE[test]), {"value": _value(text)}
        case Typed(kind=kind, test=None):
            return _("%(name)s is %(type)s"), {"type": str(TYPES[kind])}
        case Typed(kind=ValueType.AMOUNT, test=inner):
            # The comparison with a number says it already.
            return _tested(inner)
        case Typed(kind=kind, test=inner):
            text, compared = _tested(inner)
            return f"{text} (%(type)s)", compared | {"type": str(TYPES[kind])}
        case Members(names=names):
            return _("%(name)s has no members but %(value)s"), {
                "value": joined_by_and(_first([_value(name) for name in names]))
            }
    raise TypeError(test)


_LIKE = {
    "contains": gettext_lazy("%(name)s contains %(value)s"),
    "ends_with": gettext_lazy("%(name)s ends with %(value)s"),
    "like": gettext_lazy("%(name)s matches the pattern %(value)s"),
}


def _value(value: Any) -> str:
    match value:
        case bool() | None:
            return json.dumps(value)
        case int():
            return grouped(value)
        case float():
            return grouped(Decimal(f"{value:.10g}"))
        case str():
            return quoted(shortened(value))
    return shortened(json.dumps(value, ensure_ascii=False))


def _first(items: Sequence[str]) -> Sequence[str]:
    """Return the first of many items, and the number of the others."""
    if len(items) <= LISTED:
        return items
    more = len(items) - LISTED + 1
    return [
        *items[: LISTED - 1],
        ngettext("%(number)s more", "%(number)s more", more)
        % {"number": grouped(more)},
    ]


def joined_by_or(items: Sequence[str]) -> str:
    return _joined(items, _("%(first)s or %(last)s"))


def joined_by_and(items: Sequence[str]) -> str:
    return _joined(items, _("%(first)s and %(last)s"))


def _joined(items: Sequence[str], text: str) -> str:
    if len(items) < 2:
        return "".join(items)
    return text % {"first": ", ".join(items[:-1]), "last": items[-1]}


def _asking_in_words(asking: Asking, names: Names) -> list[str]:
    terms = asking.terms
    sentences = [
        _stage(stage, number, len(terms.stages), names)
        for number, stage in enumerate(terms.stages)
    ]
    sentences.append(
        _("The requester may decide too, if their role allows it.")
        if asking.with_requester
        else _("The requester may not decide.")
    )
    if terms.veto:
        sentences.append(_("One rejection ends it."))
    if terms.reason == MessageRule.REJECTION:
        sentences.append(_("A rejection needs a message."))
    if terms.reason == MessageRule.ALWAYS:
        sentences.append(_("Every decision needs a message."))
    if terms.typed_name:
        sentences.append(_("To approve, people have to type the name of the tool."))
    if terms.fresh_sign_in:
        sentences.append(_("Approvers need a fresh log-in."))
    return [*sentences, *_times(asking, names), *_showing(asking)]


def _times(asking: Asking, names: Names) -> Iterator[str]:
    """Yield what happens after which time."""
    terms = asking.terms
    if asking.deadline is not None:
        ends = str(_DEADLINES[asking.deadline.then])
        yield ends % {"length": time_in_words(asking.deadline.after)}
    if terms.reminders:
        times = joined_by_and([time_in_words(seconds) for seconds in terms.reminders])
        yield _("Reminds people who may decide after %(times)s.") % {"times": times}
    for step in terms.escalation:
        called = {
            "length": time_in_words(step.after),
            "names": visible(joined_by_and(names.of(step))),
        }
        yield _("After %(length)s, also notifies %(names)s.") % called
    if terms.working_hours and (terms.reminders or terms.escalation):
        yield _("Only working hours count for these times.")


def _showing(asking: Asking) -> Iterator[str]:
    """Yield how people are shown the request."""
    channels = asking.terms.channels
    if asking.priority:
        priority = {"priority": Priority(asking.priority).label}
        yield _("Raises the priority to %(priority)s, if it is lower.") % priority
    if channels:
        named = joined_by_and([str(CHANNELS[channel]) for channel in channels])
        yield _("Notifies people only by %(channels)s.") % {"channels": named}
    if asking.key_fields:
        paths = [".".join(pointer_parts(pointer)) for pointer in asking.key_fields]
        yield _("Shows %(fields)s first.") % {"fields": visible(joined_by_and(paths))}


_DEADLINES = {
    AtDeadline.REJECT: gettext_lazy("Rejected if no one decides within %(length)s."),
    AtDeadline.DEFAULT: gettext_lazy(
        "Answered by its default if no one decides within %(length)s."
    ),
    AtDeadline.HALT: gettext_lazy("Stops the run if no one decides within %(length)s."),
}


def time_in_words(seconds: int) -> str:
    return translated(length(timedelta(seconds=seconds)))


def _stage(stage: Stage, number: int, stages: int, names: Names) -> str:
    groups = [_group(group, names) for group in stage.groups]
    # With a comma, because a group may contain an *or*.
    joined = _joined(
        groups,
        _("%(first)s, or %(last)s") if stage.any else _("%(first)s, and %(last)s"),
    )
    if stages == 1:
        text = _("Needs the approval of %(groups)s.")
    else:
        text = (
            _("Then needs the approval of %(groups)s.")
            if number
            else _("First needs the approval of %(groups)s.")
        )
    return text % {"groups": visible(joined)}


def _group(group: VoterGroup, names: Names) -> str:
    votes = group.votes
    named = names.of(group)
    if not named:
        return ngettext(
            "someone who may decide", "%(number)s people who may decide", votes
        ) % {"number": votes}
    if len(group.people) == 1 and not group.teams:
        return named[0]
    return ngettext("one of %(names)s", "%(number)s of %(names)s", votes) % {
        "number": votes,
        "names": joined_by_or(named),
    }
