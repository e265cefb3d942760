"""Find the recipients of a notice and their channels, from notification rules, reminders and escalations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access import permissions
from approvals.access.standing import NOBODY, standings_of
from approvals.asking.asks import URGENCY
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, OutboxEvent, Preferences, PushSubscription
from approvals.models.subscriptions import NotificationRule
from approvals.outbound import outbox, push
from approvals.outbound.direct import Direct, through_relay
from approvals.outbound.on_call import in_place_of_absent, members_on_duty
from approvals.outbound.person_mails import due_for, notify_person
from approvals.outbound.quiet_hours import may_leave_at, preferences_of_people
from approvals.policy.follow_ups import follow_ups
from approvals.policy.terms import People, terms_of
from approvals.queries.policy.duty.on_call import on_duty_in
from approvals.queries.policy.votes.ballots import wanted_voters
from approvals.states import Channel, Priority, Route
from approvals.text.names import fold

#: The outbox target of a message, its channel, its lane, and the earliest time to send it.
Recipient = tuple[str, Channel, str, datetime]


def recipients_of(
    row: OutboxEvent, request: ApprovalRequest, rules: Sequence[NotificationRule]
) -> list[Recipient]:
    """Return the recipients of the notice in this outbox row, without duplicates."""
    rules = [rule for rule in rules if not rule.to_assignee]
    terms = terms_of(request.terms)
    wanted = wanted_voters(request)
    # For a new stage, a changed input or a reminder, notify only the people whose votes are wanted now.
    only = None if row.name in {"request.created", "request.escalated"} else wanted
    to = (
        follow_ups(terms)[row.payload["step"] - 1].to
        if row.name in outbox.FOLLOW_UPS
        else People()
    )
    names = bool(to.people or to.teams)
    reached = (
        _of_named(to, request, rules, only)
        if names
        else _of_everyone(request, rules, only, wanted)
    )
    sent = [
        recipient
        for recipient in reached
        if not terms.channels or _named(recipient) in terms.channels
    ]
    return list(
        {
            target: (target, channel, lane, at) for target, channel, lane, at in sent
        }.values()
    )


def _named(recipient: Recipient) -> str:
    """Return the name that terms have for a channel: for cards with buttons, that of its kind, which is their lane."""
    _target, channel, lane, _at = recipient
    return lane if channel == Channel.CARD else channel


def audience_of(rule: NotificationRule) -> list[User]:
    """Return the active people named by a rule."""
    if rule.person:
        people = [rule.person]
    else:
        people = list(rule.group.user_set.all()) if rule.group else []
    return [person for person in people if person.is_active]


def _fits(rule: NotificationRule, request: ApprovalRequest) -> bool:
    """Return whether a rule is for this request. As in scopes, a missing amount is over every amount."""
    over = (
        rule.above_amount is None
        or request.amount is None
        or abs(request.amount) > rule.above_amount
    )
    return (
        over
        and request.urgency <= URGENCY[Priority(rule.min_priority)]
        and fold(rule.tool_name) in {"", fold(request.tool_name)}
    )


def notify_assignee(request: ApprovalRequest, person: User) -> None:
    """Write a mail to a new assignee, and direct messages by rules; call this inside the transaction of the event."""
    notify_person("request.assigned", request, person)
    rules = NotificationRule.objects.filter(active=True, to_assignee=True)
    fitting = [
        rule
        for rule in rules.select_related("person", "group").order_by("pk")
        if person in audience_of(rule) and _fits(rule, request)
    ]
    preferences = preferences_of_people({person.pk}).get(person.pk)
    muted = preferences.muted if preferences is not None else ()
    ways: dict[str, Direct] = {}
    for rule in fitting:
        direct = _direct(rule, person)
        if f"{direct.channel}:assigned" not in muted:
            ways.setdefault(direct.lane, direct)
    rows = [
        OutboxEvent(
            channel=direct.channel,
            target=direct.target,
            lane=direct.lane,
            next_attempt_at=due_for(preferences, request),
        )
        for direct in ways.values()
    ]
    outbox.write_request_event("request.assigned", rows, request)


def _direct(rule: NotificationRule, person: User) -> Direct:
    if rule.route == Route.RELAY and rule.relay_id is not None:
        return through_relay(rule.relay_id, person.pk)
    return Direct(f"card:{rule.pk}:{person.pk}", Channel.CARD, rule.kind)


def all_see(people: Collection[User], request: ApprovalRequest) -> bool:
    """Return whether there are such people, and all of them may see a request."""
    return 0 < len(people) == len(_seeing(people, request))


def _of_everyone(
    request: ApprovalRequest,
    rules: Iterable[NotificationRule],
    only: Set[int] | None,
    wanted: Set[int] | None,
) -> Iterator[Recipient]:
    """Yield the people named by rules, limited to `only` if given, and the browsers of those who may decide now.

    `wanted` are the people whose votes are wanted, if the request takes votes.
    """
    fitting = [
        rule
        for rule in rules
        if _fits(rule, request)
        and (only is None or any(person.pk in only for person in audience_of(rule)))
    ]
    duty = on_duty_in(
        {rule.group_id for rule in fitting if rule.group_id} | set(_teams(request))
    )
    by_mail = [rule for rule in fitting if rule.route == Route.MAIL]
    people = {
        person.pk: person
        for rule in by_mail
        for person in members_on_duty(
            audience_of(rule), duty.get(rule.group_id) if rule.group_id else None
        )
        if only is None or person.pk in only
    }
    yield from _channels(fitting, request)
    everyone = list(people.values())
    yield from _mails(_present(everyone, only), everyone, request)
    if push.is_available():
        subscriptions = _subscriptions(None)
        standings = standings_of({each.person_id for each in subscriptions})
        may = {
            pk
            for pk, standing in standings.items()
            if permissions.may_close(standing, request)
        }
        # A wanted voter may have no browser, while their delegate, also included, may have one.
        ids = may if wanted is None else wanted
        called = list(
            User.objects.filter(pk__in=any_of(ids, int), is_active=True).order_by("pk")
        )
        present = {
            person.pk for person in in_place_of_absent(_on_duty(called, request, duty))
        }
        chosen = may & present & ids or may & ids
        yield from _browsers(
            [each for each in subscriptions if each.person_id in chosen], request
        )


def _teams(request: ApprovalRequest) -> list[int]:
    """Return the teams in a request's terms."""
    return [
        team
        for stage in terms_of(request.terms).stages
        for group in stage.groups
        for team in group.teams
    ]


def _on_duty(
    people: list[User], request: ApprovalRequest, duty: Mapping[int, frozenset[int]]
) -> list[User]:
    """Return these people without those whose teams (of the request) all have other members on call."""
    known = {team: duty[team] for team in _teams(request) if team in duty}
    if not known:
        return people
    # People in none of these teams stay.
    members = User.groups.through._default_manager.filter(
        group__in=any_of(known, int)
    ).values_list("user", "group")
    teams: dict[int, set[int]] = {}
    for person, team in members:
        teams.setdefault(person, set()).add(team)
    on = [
        each
        for each in people
        if each.pk not in teams
        or any(each.pk in known[team] for team in teams[each.pk])
    ]
    return on or people


def _of_named(
    to: People,
    request: ApprovalRequest,
    rules: Iterable[NotificationRule],
    only: Set[int] | None,
) -> Iterator[Recipient]:
    """Yield the recipients of a notice to these people and teams, limited to `only` if given, regardless of other rules."""
    duty = on_duty_in(to.teams)
    named = list(User.objects.filter(pk__in=any_of(to.people, int), is_active=True))
    for team in to.teams:
        named += members_on_duty(
            User.objects.filter(groups=team, is_active=True).order_by("pk"),
            duty.get(team),
        )
    everyone = list(
        {
            person.pk: person for person in named if only is None or person.pk in only
        }.values()
    )
    present = _present(everyone, only)
    yield from _channels(
        [
            rule
            for rule in rules
            if rule.person_id in to.people or rule.group_id in to.teams
        ],
        request,
    )
    if settings.HITL_MAIL:
        yield from _mails(present, everyone, request)
    if push.is_available():
        subscriptions = _subscriptions(
            {person.pk for person in _seeing(present, request)}
        )
        yield from _browsers(subscriptions, request)


def _channels(
    rules: Iterable[NotificationRule], request: ApprovalRequest
) -> Iterator[Recipient]:
    for rule in rules:
        if rule.route == Route.MAIL or (rule.route == Route.RELAY and not rule.relay):
            continue
        audience = audience_of(rule)
        if rule.route == Route.RELAY or (rule.kind and not rule.channel_id):
            yield from _direct_messages(rule, _seeing(audience, request), request)
        # Everyone in a channel can read it, so all of them must be allowed to see the request.
        elif not all_see(audience, request):
            continue
        elif rule.kind:
            yield f"card:{rule.pk}", Channel.CARD, rule.kind, timezone.now()
        else:
            yield (
                f"slack:{rule.pk}",
                Channel.SLACK,
                outbox.lane_of(rule.slack_url),
                timezone.now(),
            )


def _direct_messages(
    rule: NotificationRule, people: list[User], request: ApprovalRequest
) -> Iterator[Recipient]:
    """Yield the direct messages to those of these people who are present and want them."""
    present = _seeing(in_place_of_absent(_on_call(rule, people)), request)
    chosen = preferences_of_people({person.pk for person in present})
    for person in present:
        preferences = chosen.get(person.pk)
        direct = _direct(rule, person)
        if not _muted(preferences, direct.channel, request):
            yield *direct, _leaves_at(preferences, request)


def _on_call(rule: NotificationRule, people: list[User]) -> list[User]:
    """Return those of these members of a rule's team who are on call; all of them if no one is known to be."""
    team = rule.group_id
    return members_on_duty(people, on_duty_in({team}).get(team)) if team else people


def _present(people: Sequence[User], only: Set[int] | None) -> Sequence[User]:
    """Return these people with delegates (if in `only`) in place of those who are away; all of them if no one would be left."""
    return [
        person
        for person in in_place_of_absent(people)
        if only is None or person.pk in only
    ] or people


def _mails(
    present: Iterable[User], everyone: Iterable[User], request: ApprovalRequest
) -> Iterator[Recipient]:
    """Yield the mails to those who are present; if none of them can get one, to everyone."""
    readers = _readers(present, request) or _readers(everyone, request)
    chosen = preferences_of_people({person.pk for person in readers})
    for person in readers:
        if not _muted(chosen.get(person.pk), Channel.MAIL, request):
            yield (
                f"mail:{person.pk}",
                Channel.MAIL,
                "mail",
                _leaves_at(chosen.get(person.pk), request),
            )


def _readers(people: Iterable[User], request: ApprovalRequest) -> list[User]:
    return _seeing([person for person in people if person.email], request)


def _seeing(people: Collection[User], request: ApprovalRequest) -> list[User]:
    """Return those of these people who may see a request."""
    standings = standings_of({person.pk for person in people})
    return [
        person
        for person in people
        if permissions.may_see(standings.get(person.pk, NOBODY), request)
    ]


def _subscriptions(people: Collection[int] | None) -> list[PushSubscription]:
    """Return the browsers of these people, or all browsers."""
    active = (
        PushSubscription.objects.filter(person__is_active=True)
        .select_related("person")
        .order_by("pk")
    )
    return list(
        active if people is None else active.filter(person__in=any_of(people, int))
    )


def _browsers(
    subscriptions: Sequence[PushSubscription], request: ApprovalRequest
) -> Iterator[Recipient]:
    chosen = preferences_of_people(
        {subscription.person_id for subscription in subscriptions}
    )
    for each in subscriptions:
        if not _muted(chosen.get(each.person_id), Channel.PUSH, request):
            at = _leaves_at(chosen.get(each.person_id), request)
            yield f"push:{each.pk}", Channel.PUSH, outbox.lane_of(each.endpoint), at


def _muted(
    preferences: Preferences | None, channel: Channel, request: ApprovalRequest
) -> bool:
    return preferences is not None and f"{channel}:{request.kind}" in preferences.muted


def _leaves_at(preferences: Preferences | None, request: ApprovalRequest) -> datetime:
    now = timezone.now()
    return (
        now if request.priority == Priority.CRITICAL else may_leave_at(preferences, now)
    )
