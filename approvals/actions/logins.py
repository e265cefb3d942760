"""Record log-ins, failed log-ins and new passwords; store the owners of sessions, and end sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy

from approvals.access.administrators import break_glass_account
from approvals.access.factors import people_with
from approvals.access.rate_limits import network_of
from approvals.access.sessions import STORED_EVERY, SessionStore, notice_key
from approvals.actions.locking import lock_sessions_of
from approvals.db.many import any_of
from approvals.db.transactions import after_commit, async_commit
from approvals.live import doorbell
from approvals.models import Invitation, ProviderSession, UsedLogOutToken
from approvals.models.people import KnownNetwork, PersonSession
from approvals.queries.preferences import in_language_of
from approvals.record import audit
from approvals.states import Door

SUBJECT = audit.Subject(scope="desk")
MAX_BROWSER = 300
#: Most old sessions that one call ends.
MOST_ENDED = 500
#: How long a browser is told at its next page why its session has ended.
TOLD_FOR = timedelta(days=7)


class EndReason(Enum):
    """Why sessions are ended, with the sentence for the person."""

    RIGHTS = gettext_lazy(
        "You were logged out because a role or right was taken from your account. Log in again."
    )
    DEACTIVATED = gettext_lazy(
        "You were logged out because your account was deactivated."
    )
    PASSWORD = gettext_lazy(
        "You were logged out because the password of your account was changed. Log in again."
    )
    FACTORS = gettext_lazy(
        "You were logged out because a second factor of your account was added or removed. Log in again."
    )
    IDLE = gettext_lazy(
        "You were logged out because you were away for too long. Log in again."
    )
    OTHER = gettext_lazy("Your session was ended. Log in again.")


def record_login(user: User, *, address: str, **details: str) -> None:
    """Record a log-in, and that of the break-glass account also as an event of its own."""
    data = {"address": address, **details}
    events = ["login.succeeded"]
    if user == break_glass_account():
        events.append("login.break_glass")
    for event in events:
        audit.record(event, SUBJECT, data=data, actor=user, via=Door.DASHBOARD)


def record_failed_login(name: str, *, address: str, **details: str) -> str:
    """Return the name for the record: empty if no user has it, since it may be a password in the wrong field."""
    known = name if User.objects.filter(username=name).exists() else ""
    data = {"name": known, "address": address, **details}
    audit.record("login.failed", SUBJECT, data=data, actor=None, via=Door.DASHBOARD)
    return known


def store_password(user: User, *, reset: bool, address: str) -> None:
    """Store the password set on `user`; `reset` if a link was used, which may be that of an invitation."""
    with transaction.atomic():
        invited, _rows = Invitation.objects.filter(person=user).delete()
        if invited:
            event = "invitation.accepted"
        else:
            event = "password.reset" if reset else "password.changed"
        user.save(update_fields=["password"])
        audit.record(
            event, SUBJECT, data={"address": address}, actor=user, via=Door.DASHBOARD
        )


def record_session(
    person: User,
    session_key: str,
    *,
    address: str,
    browser: str,
    at_provider: Mapping[str, str] | None = None,
) -> None:
    """Store the owner of a session at log-in, and with which session at the OpenID provider it began."""
    shown = "".join(char for char in browser if char.isprintable())[:MAX_BROWSER]
    session, _new = PersonSession.objects.update_or_create(
        session_key=session_key,
        defaults={"person": person, "address": address, "browser": shown},
    )
    if at_provider is not None:
        ProviderSession.objects.create(session=session, **at_provider)


def continue_session(session_key: str, *, under: str) -> None:
    """Store that a session has a new key."""
    PersonSession.objects.filter(session_key=session_key).update(session_key=under)


def end_provider_sessions(
    token: str, *, issuer: str, subject: str, sid: str, lasts: timedelta
) -> int | None:
    """End the sessions that a log-out token names, and return their number; None if the token was used before.

    `token` identifies it while it `lasts`. With a subject and a session id, sessions of that subject without an id end too.
    """
    now = timezone.now()
    with transaction.atomic():
        UsedLogOutToken.objects.filter(expires_at__lt=now).delete()
        _token, new = UsedLogOutToken.objects.get_or_create(
            digest=hashlib.sha256(f"{issuer} {token}".encode()).hexdigest(),
            defaults={"expires_at": now + lasts},
        )
        if not new:
            return None
        named = ProviderSession.objects.filter(issuer=issuer)
        if subject:
            named = named.filter(subject=subject)
        if sid:
            named = named.filter(sid__in={sid, ""} if subject else {sid})
        return _end_named(named)


def end_sessions_at_provider(issuer: str) -> None:
    """End all sessions that began at a provider."""
    _end_named(ProviderSession.objects.filter(issuer=issuer))


def _end_named(named: QuerySet[ProviderSession]) -> int:
    keys: dict[int, list[str]] = {}
    for each in named.select_related("session"):
        keys.setdefault(each.session.person_id, []).append(each.session.session_key)
    # In one order, so that no two transactions wait for each other.
    return sum(_end(person, each) for person, each in sorted(keys.items()))


def store_activity(used: Mapping[str, datetime]) -> None:
    """Store the last use of sessions. If the write is lost, the next one follows some minutes later."""
    if not used:
        return
    with transaction.atomic():
        async_commit()
        sessions = list(
            PersonSession.objects.filter(session_key__in=any_of(set(used), str))
        )
        for session in sessions:
            # Another process may have stored a later use.
            session.last_active_at = max(
                used[session.session_key], session.last_active_at or session.started_at
            )
        PersonSession.objects.bulk_update(sessions, ["last_active_at"], batch_size=500)


def end_old_sessions() -> None:
    """End the sessions that the settings limit for everyone or for a role of their owner, some minutes after the limit."""
    now = timezone.now()
    over = Q(pk=None)
    for role, hours in settings.SESSION_HOURS.items():
        over |= Q(_of(role), started_at__lt=now - timedelta(hours=hours))
    for role, minutes in settings.SESSION_IDLE_MINUTES.items():
        if minutes:
            # The last use is stored late.
            idle = timedelta(minutes=minutes, seconds=2 * STORED_EVERY)
            over |= Q(_of(role), used__lt=now - idle)
    last_use = Coalesce("last_active_at", "started_at")
    sessions = PersonSession.objects.alias(used=last_use).filter(over)
    for session in sessions[:MOST_ENDED]:
        _end(session.person_id, [session.session_key], EndReason.IDLE)


def _of(role: str) -> Q:
    return Q(person__in=people_with([role])) if role else Q()


def end_session(person: User, session_id: int) -> bool:
    """End one of a person's own sessions; return whether it existed. Its open pages say that they are logged out."""
    sessions = PersonSession.objects.filter(person=person, pk=session_id)
    return bool(_end(person.pk, sessions.values_list("session_key", flat=True)))


def end_sessions(person: int, why: EndReason, *, kept: str = "") -> int:
    """End the sessions of the person with this id, except the one with the key `kept`; return their number."""
    sessions = PersonSession.objects.filter(person=person).exclude(session_key=kept)
    return _end(person, sessions.values_list("session_key", flat=True), why)


def _end(
    person: int, session_keys: Iterable[str], why: EndReason = EndReason.OTHER
) -> int:
    """End sessions, close their pages, and keep for a while what their browsers are told."""
    keys = list(session_keys)
    notices = [_notice(person, key, why) for key in keys]
    with transaction.atomic():
        lock_sessions_of(person)
        PersonSession.objects.filter(session_key__in=keys).delete()
        ended, _each = Session.objects.filter(session_key__in=keys).delete()
        Session.objects.bulk_create(notices, ignore_conflicts=True)
        message = {"type": "session.ended"}
        after_commit(doorbell.notify, {doorbell.user_group(person)}, message)
    return ended


def _notice(person: int, session_key: str, why: EndReason) -> Session:
    with in_language_of(person):
        data = SessionStore().encode({"ended": str(why.value)})
    until = timezone.now() + TOLD_FOR
    return Session(
        session_key=notice_key(session_key), session_data=data, expire_date=until
    )


def note_address(person: User, address: str, *, last_login: datetime | None) -> bool:
    """Remember the network of a log-in; return whether the person must be told of it. `last_login`: that of the log-in before.

    Networks without a log-in for the days of the settings are forgotten, those of other people too.
    """
    if not address:
        return False
    now = timezone.now()
    network = network_of(address)
    with transaction.atomic():
        oldest = now - timedelta(days=settings.SIGN_IN_DAYS)
        KnownNetwork.objects.filter(last_seen_at__lt=oldest).delete()
        # The network of that log-in would be known, if networks had been remembered then: there is nothing to compare with.
        nothing_known = (
            last_login is not None
            and last_login >= oldest
            and not KnownNetwork.objects.filter(person=person).exists()
        )
        _row, new = KnownNetwork.objects.update_or_create(
            person=person, network=network, defaults={"last_seen_at": now}
        )
        is_new = new and not nothing_known
        # The first log-in of an account is on record anyway.
        if is_new and last_login is not None:
            audit.record(
                "login.new_address",
                SUBJECT,
                data={"address": address},
                actor=person,
                via=Door.DASHBOARD,
            )
    return is_new
