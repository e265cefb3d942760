"""Create, rotate, change and revoke API keys, on record, and warn of their expiry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.callers import (
    DEFAULT_SCOPES,
    KEY_SCOPE,
    SCIM,
    known_key_of,
)
from approvals.access.permissions import may_administer
from approvals.access.standing import Standing, standing_of
from approvals.access.tool_lists import ToolLists, lists_from
from approvals.actions.changes import Kind, record_alone, request_change
from approvals.actions.locking import lock_standing
from approvals.administration.account_mails import (
    AccountMailReason,
    tell_of_own_change,
    tell_person,
)
from approvals.administration.changeable import require_changeable
from approvals.db.canonical_json import utc
from approvals.db.due import for_each_due
from approvals.exceptions import NotAllowed, NotFound
from approvals.json_types import JsonMapping
from approvals.models import PendingChange
from approvals.models.actors import Signatory
from approvals.models.keys import (
    NOT_FOR_OTHERS,
    ApiKey,
    default_expiry,
    hash_of,
    live,
    new_text,
    next_warning,
    prefix_in,
)
from approvals.policy.loosening import lists_loosen
from approvals.record import audit
from approvals.states import Door


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """The fields of a key to create. `replaces` is the id of the key that it replaces, which works for `overlap` longer.

    With an issuer it is a mapping: it has no secret, and is used with the tokens whose claim has this value.
    """

    user: User
    name: str
    scopes: Sequence[str] = DEFAULT_SCOPES
    expires_at: datetime | None = field(default_factory=default_expiry)
    ranges: Sequence[str] = ()
    replaces: int | None = None
    overlap: timedelta = timedelta(days=1)
    issuer_id: int | None = None
    claim: str = ""
    claim_value: str = ""


def create_key(
    user: User,
    *,
    text: str = "",
    by: User | None = None,
    via: str = Door.SYSTEM,
    **fields: Any,
) -> tuple[ApiKey, str]:
    """Create a key with these fields, on record; return it with its secret text, which is shown once and never stored.

    `text` is the secret text, random by default. Raise NotAllowed if `by` may not create such a key for someone else.
    """
    new = NewKey(user=user, **fields)
    text = text or new_text()
    prefix, secret_hash = _stored_of(text)
    with transaction.atomic():
        return store_key(new, prefix, secret_hash, made_by=by, by=by, via=via), text


def make_key(new: NewKey, *, by: User, via: Door) -> tuple[ApiKey | PendingChange, str]:
    """Create a key as a person; return it with its secret text, which is shown once and never stored.

    A key for someone else, or for SCIM, works only after a second administrator confirms it. Raise NotAllowed, or NotFound for
    an unknown key to replace.
    """
    text = new_text()
    prefix, secret_hash = _stored_of(text)
    shared = by.pk != new.user.pk or SCIM in new.scopes
    with transaction.atomic():
        standing = lock_standing(by)
        _require_allowed(new, standing)
        if shared and needs_second(standing):
            value = {
                "name": new.name,
                "scopes": list(new.scopes),
                "expires_at": utc(new.expires_at) if new.expires_at else None,
                "ranges": list(new.ranges),
                "replaces": new.replaces,
                "overlap": int(new.overlap.total_seconds()),
                "secret_hash": secret_hash,
            }
            change = request_change(
                Kind.KEY, value, person=new.user, subject=prefix, by=by, via=via
            )
            return change, text
        key = store_key(new, prefix, secret_hash, made_by=by, by=by, via=via)
        if shared:
            record_alone(
                Kind.KEY, prefix=prefix, user=new.user.get_username(), by=by, via=via
            )
    return key, text


def rotate_key(
    key_id: int, *, by: User, via: Door, **fields: Any
) -> tuple[ApiKey | PendingChange, str]:
    """Create a successor of a key, with its person, name, scopes, ranges and lists; `fields` are its expiry and the overlap.

    Raise NotFound or NotAllowed.
    """
    old = ApiKey.objects.select_related("user").filter(live(), pk=key_id).first()
    if old is None:
        raise NotFound(_("API key not found. It may be revoked or expired already."))
    new = NewKey(
        user=old.user,
        name=old.name,
        scopes=[scope for scope in old.scopes if scope in old.allowed_scopes],
        ranges=old.ranges,
        replaces=key_id,
        **fields,
    )
    return make_key(new, by=by, via=via)


def store_key(
    new: NewKey,
    prefix: str,
    secret_hash: str,
    *,
    made_by: User | None,
    by: User | None,
    via: str,
) -> ApiKey:
    """Write a key, on record; the key that it replaces expires after the overlap. Raise NotAllowed or NotFound."""
    if by is not None and by.pk != new.user.pk:
        require_key_for_other(new.user, new.scopes, standing_of(by))
    now = timezone.now()
    old = None if new.replaces is None else _end_after(new.replaces, now + new.overlap)
    key = ApiKey.objects.create(
        user=new.user,
        name=new.name,
        prefix=prefix,
        secret_hash=secret_hash,
        scopes=list(new.scopes),
        created_at=now,
        expires_at=new.expires_at,
        warn_at=next_warning(new.expires_at, now),
        ranges=list(new.ranges),
        made_by=made_by,
        tool_lists=None if old is None else old.tool_lists,
        replaces=None if old is None else [*(old.replaces or ()), old.pk],
        issuer_id=new.issuer_id,
        claim=new.claim,
        claim_value=new.claim_value,
    )
    details = {
        "scopes": key.scopes,
        "ranges": key.ranges,
        "expires_at": utc(key.expires_at) if key.expires_at else None,
    }
    if key.issuer is not None:
        details |= {
            "issuer": key.issuer.issuer,
            "claim": key.claim,
            "value": key.claim_value,
        }
    if made_by is not None and by is not None and made_by.pk != by.pk:
        details["made_by"] = made_by.get_username()
    if old is not None and old.expires_at:
        details["replaces"] = old.prefix
        details["replaced_expires_at"] = utc(old.expires_at)
    _record("key.created", key, details, actor=by, via=via, at=now)
    detail = f"{new.name} ({', '.join(new.scopes)})"
    if made_by == new.user:
        tell_of_own_change(new.user, AccountMailReason.OWN_KEY, detail)
    elif made_by is not None:
        tell_person(new.user, AccountMailReason.KEY, by=made_by, detail=detail)
    return key


def _end_after(key_id: int, moment: datetime) -> ApiKey:
    """Let a key expire at this moment, unless it expires before. Raise NotFound."""
    old = known_key(key_id)
    old.expires_at = min(old.expires_at or moment, moment)
    old.warn_at = None
    old.save(update_fields=["expires_at", "warn_at"])
    return old


def _stored_of(text: str) -> tuple[str, str]:
    """Return the stored parts of a key's secret text: its prefix and its hash."""
    prefix = prefix_in(text)
    assert prefix is not None, "another text would never be found"
    return prefix, hash_of(text)


def _require_allowed(new: NewKey, by: Standing) -> None:
    """Raise NotAllowed unless this person may create the key."""
    require_scim_alone(new.scopes, standing_of(new.user))
    if by.pk != new.user.pk:
        require_key_for_other(new.user, new.scopes, by)
    elif not may_administer(by) and (
        forbidden := set(new.scopes) - set(settings.HITL_OWN_KEY_SCOPES)
    ):
        raise NotAllowed(
            _(
                "You may not create keys of your own with these scopes: %(scopes)s. Ask an administrator."
            )
            % {"scopes": ", ".join(sorted(forbidden))}
        )


def require_scim_alone(scopes: Sequence[str], user: Standing) -> None:
    """Raise NotAllowed for a key for SCIM with other scopes, or of someone who does not administer."""
    if SCIM not in scopes:
        return
    if len(scopes) > 1:
        raise NotAllowed(
            _("A key for SCIM has no other scope. Create a key of its own for it.")
        )
    if not may_administer(user):
        raise NotAllowed(_("A key for SCIM must act for an administrator."))


def require_key_for_other(user: User, scopes: Sequence[str], by: Standing) -> None:
    """Raise NotAllowed if the key would let `by` decide as someone else, or act with rights that `by` lacks."""
    if not may_administer(by):
        raise NotAllowed(_("Only administrators can create keys for someone else."))
    require_changeable(user, by)
    if forbidden := [scope for scope in scopes if scope in NOT_FOR_OTHERS]:
        raise NotAllowed(
            _(
                "A key that acts for someone else cannot decide, give grants, or set absences. Leave out: "
                "%(scopes)s. Only they can create such a key."
            )
            % {"scopes": ", ".join(forbidden)}
        )


def revoke_keys_of(person: User, *, by: Signatory, via: Door) -> None:
    """Revoke all keys of a deactivated person; otherwise they would work again after reactivation."""
    for key_id in ApiKey.objects.filter(user=person, revoked_at=None).values_list(
        "pk", flat=True
    ):
        revoke_key(key_id, by=by, via=via)


def revoke_key(
    key_id: int, *, by: Signatory | None, via: str, **details: object
) -> bool:
    """Revoke a key, on record; return False if it does not exist or was revoked before.

    Without `by`, someone has found the key where others can read it.
    """
    now = timezone.now()
    with transaction.atomic():
        valid = ApiKey.objects.filter(pk=key_id, revoked_at=None)
        if not valid.update(revoked_at=now, warn_at=None):
            return False
        key = ApiKey.objects.select_related("user").get(pk=key_id)
        _record("key.revoked", key, details, actor=by, via=via, at=now)
        if by is None:
            tell_of_own_change(key.user, AccountMailReason.KEY_LEAKED, key.name)
        else:
            tell_person(key.user, AccountMailReason.KEY_REVOKED, by=by, detail=key.name)
    return True


def revoke_leaked_key(text: str, *, address: str, url: str) -> None:
    """Revoke the key with this text, on record with the address of the reporter and the place where the key was found.

    The text proves the leak. Do nothing if no key has it.
    """
    if (key := known_key_of(text)) is not None:
        report = {"leaked": True, "address": address, "url": url}
        revoke_key(key.pk, by=None, via=Door.REST, **report)


def keys_to_warn_of(now: Any) -> QuerySet[ApiKey]:
    """Return the keys whose owners are to be warned: `now` is a datetime, or the database's `Now()`."""
    return ApiKey.objects.filter(warn_at__lte=now)


def warn_of_expiring_keys() -> None:
    """Mail the owners of keys that expire soon, each time once."""
    for_each_due(keys_to_warn_of(Now()).order_by("warn_at"), _warn)


@transaction.atomic
def _warn(key_id: int) -> None:
    rows = ApiKey.objects.select_for_update(of=("self",)).select_related("user")
    key = rows.filter(pk=key_id, warn_at__lte=Now()).first()
    if key is None:
        return
    key.warn_at = next_warning(key.expires_at, timezone.now())
    key.save(update_fields=["warn_at"])
    detail = f"{key.name} (pp_{key.prefix}…), {key.expires_at:%Y-%m-%d}"
    tell_of_own_change(key.user, AccountMailReason.KEY_EXPIRES, detail)


def change_tool_lists(
    key_id: int, lists: ToolLists, *, by: User, via: Door
) -> PendingChange | None:
    """Store the lists of coding-agent calls that need a person, on record; record nothing if nothing changes.

    Return the change if it loosens the lists and needs a second administrator. Raise Invalid for a list out of bounds, NotFound
    for an unknown or revoked key, NotAllowed if `by` may not change the key's user.
    """
    lists.check()
    with transaction.atomic():
        standing = lock_standing(by)
        key = known_key(key_id)
        if key.user_id != by.pk:
            require_changeable(key.user, standing)
        before = lists_from(key.tool_lists).document()
        if key.tool_lists is not None and before == lists.document():
            return None
        loosens = lists_loosen(before, lists.document())
        if loosens and needs_second(standing):
            return request_change(
                Kind.KEY_LISTS,
                lists.document(),
                person=key.user,
                subject=str(key.pk),
                before=before,
                by=by,
                via=via,
            )
        write_tool_lists(key, lists, by=by, via=via)
        if loosens:
            record_alone(
                Kind.KEY_LISTS,
                prefix=key.prefix,
                user=key.user.get_username(),
                by=by,
                via=via,
            )
    return None


def write_tool_lists(key: ApiKey, lists: ToolLists, *, by: User, via: Door) -> None:
    """Write the tool lists of a key, on record."""
    before = lists_from(key.tool_lists)
    key.tool_lists = lists.document()
    key.save(update_fields=["tool_lists"])
    written = {"tool_lists": lists.document(), "before": before.document()}
    _record("key.changed", key, written, actor=by, via=via)
    tell_person(key.user, AccountMailReason.KEY_CHANGED, by=by, detail=key.name)


def known_key(key_id: int) -> ApiKey:
    """Return a locked key that is not revoked. Raise NotFound."""
    key = (
        ApiKey.objects.select_for_update(of=("self",))
        .select_related("user")
        .filter(pk=key_id)
        .first()
    )
    if key is None or key.revoked_at is not None:
        raise NotFound(_("API key not found. It may be revoked already."))
    return key


def _record(event: str, key: ApiKey, details: JsonMapping, **about: Any) -> None:
    data = {"name": key.name, "prefix": key.prefix, "user": key.user.get_username()}
    subject = audit.Subject(scope=f"{KEY_SCOPE}{key.pk}")
    audit.record(event, subject, data={**data, **details}, **about)
