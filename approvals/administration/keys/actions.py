"""Create, change and revoke API keys, on record."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.callers import DEFAULT_SCOPES, KEY, KEY_SCOPE, hash_of
from approvals.access.standing import Standing, standing_of
from approvals.access.tool_lists import ToolLists, lists_from
from approvals.actions.changes import Kind, record_alone, request_change
from approvals.actions.locking import lock_standing
from approvals.administration.account_mails import AccountMailReason, tell_person
from approvals.administration.changeable import require_changeable
from approvals.db.canonical_json import utc
from approvals.exceptions import NotAllowed, NotFound
from approvals.models import PendingChange
from approvals.models.keys import NOT_FOR_OTHERS, ApiKey, live
from approvals.policy.loosening import lists_loosen
from approvals.record import audit
from approvals.states import Door

#: How long a replaced key keeps working.
REPLACED_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """The fields of a key to create. `replaces` is the key that it replaces."""

    user: User
    name: str
    scopes: Sequence[str] = DEFAULT_SCOPES
    expires_at: datetime | None = None
    replaces: ApiKey | None = None


def create_key(
    user: User,
    *,
    name: str,
    scopes: Sequence[str] = DEFAULT_SCOPES,
    text: str = "",
    expires_at: datetime | None = None,
    by: User | None = None,
    via: str = Door.SYSTEM,
) -> tuple[ApiKey, str]:
    """Create a key, on record; return it with its secret text, which is shown once and never stored.

    `text` is the secret text, random by default. Raise NotAllowed if `by` may not create such a key for someone else.
    """
    new = NewKey(user=user, name=name, scopes=scopes, expires_at=expires_at)
    text = text or _secret_text()
    prefix, secret_hash = _stored_of(text)
    with transaction.atomic():
        return store_key(new, prefix, secret_hash, made_by=by, by=by, via=via), text


def make_key(new: NewKey, *, by: User, via: Door) -> tuple[ApiKey | PendingChange, str]:
    """Create a key as an administrator; return it with its secret text, which is shown once and never stored.

    A key for someone else works only after a second administrator confirms it. Raise NotAllowed.
    """
    text = _secret_text()
    prefix, secret_hash = _stored_of(text)
    for_other = by.pk != new.user.pk
    with transaction.atomic():
        standing = lock_standing(by)
        if for_other:
            _require_key_for_other(new.user, new.scopes, standing)
            if needs_second(standing):
                value = {
                    "name": new.name,
                    "scopes": list(new.scopes),
                    "expires_at": utc(new.expires_at) if new.expires_at else None,
                    "replaces": new.replaces.pk if new.replaces else None,
                    "secret_hash": secret_hash,
                }
                change = request_change(
                    Kind.KEY, value, person=new.user, subject=prefix, by=by, via=via
                )
                return change, text
        key = store_key(new, prefix, secret_hash, made_by=by, by=by, via=via)
        if for_other:
            record_alone(
                Kind.KEY, prefix=prefix, user=new.user.get_username(), by=by, via=via
            )
    return key, text


def replace_key(
    key_id: int, *, by: User, via: Door
) -> tuple[ApiKey | PendingChange, str]:
    """Create a key that replaces another one, which keeps working for a day. Raise NotFound or NotAllowed."""
    old = ApiKey.objects.select_related("user").filter(live(), pk=key_id).first()
    if old is None:
        raise NotFound(_("API key not found. It may be revoked or expired already."))
    scopes = [scope for scope in old.scopes if scope in old.allowed_scopes]
    new = NewKey(
        user=old.user,
        name=old.name,
        scopes=scopes,
        expires_at=old.expires_at,
        replaces=old,
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
    """Write a key, on record; the key that it replaces expires within a day. Raise NotAllowed."""
    if by is not None and by.pk != new.user.pk:
        _require_key_for_other(new.user, new.scopes, standing_of(by))
    old = new.replaces
    key = ApiKey.objects.create(
        user=new.user,
        name=new.name,
        prefix=prefix,
        secret_hash=secret_hash,
        scopes=list(new.scopes),
        expires_at=new.expires_at,
        made_by=made_by,
        tool_lists=None if old is None else old.tool_lists,
        replaces=None if old is None else [*(old.replaces or ()), old.pk],
    )
    data = _described(key) | {"scopes": key.scopes}
    if new.expires_at:
        data["expires_at"] = utc(new.expires_at)
    if made_by is not None and by is not None and made_by.pk != by.pk:
        data["made_by"] = made_by.get_username()
    if old is not None:
        data["replaces"] = old.prefix
        soon = timezone.now() + REPLACED_FOR
        ends_later = Q(expires_at=None) | Q(expires_at__gt=soon)
        ApiKey.objects.filter(ends_later, pk=old.pk, revoked_at=None).update(
            expires_at=soon
        )
    audit.record(
        "key.created", _subject(key), data=data, actor=by, via=via, at=key.created_at
    )
    if made_by is not None:
        tell_person(
            new.user,
            AccountMailReason.KEY,
            by=made_by,
            detail=f"{new.name} ({', '.join(new.scopes)})",
        )
    return key


def _secret_text() -> str:
    return f"pp_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"


def _stored_of(text: str) -> tuple[str, str]:
    """Return the stored parts of a key's secret text: its prefix and its hash."""
    shape = KEY.fullmatch(text)
    assert shape is not None, "another shape would never be found"
    return shape["prefix"], hash_of(text)


def _require_key_for_other(user: User, scopes: Collection[str], by: Standing) -> None:
    """Raise NotAllowed if the key would let `by` decide as someone else, or act with rights that `by` lacks."""
    require_changeable(user, by)
    if forbidden := [scope for scope in scopes if scope in NOT_FOR_OTHERS]:
        raise NotAllowed(
            _(
                "A key that acts for someone else cannot decide, give grants, or set absences. Leave out: "
                "%(scopes)s. Only they can create such a key."
            )
            % {"scopes": ", ".join(forbidden)}
        )


def revoke_keys_of(person: User, *, by: User, via: Door) -> None:
    """Revoke all keys of a deactivated person; otherwise they would work again after reactivation."""
    for key_id in ApiKey.objects.filter(user=person, revoked_at=None).values_list(
        "pk", flat=True
    ):
        revoke_key(key_id, by=by, via=via)


def revoke_key(key_id: int, *, by: User, via: str) -> bool:
    """Revoke a key, on record; return False if it does not exist or was revoked before."""
    now = timezone.now()
    with transaction.atomic():
        if not ApiKey.objects.filter(pk=key_id, revoked_at=None).update(revoked_at=now):
            return False
        key = ApiKey.objects.select_related("user").get(pk=key_id)
        audit.record(
            "key.revoked",
            _subject(key),
            data=_described(key),
            actor=by,
            via=via,
            at=now,
        )
        tell_person(key.user, AccountMailReason.KEY_REVOKED, by=by, detail=key.name)
    return True


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
    data = _described(key) | {
        "tool_lists": lists.document(),
        "before": before.document(),
    }
    audit.record("key.changed", _subject(key), data=data, actor=by, via=via)
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


def _described(key: ApiKey) -> dict[str, object]:
    return {"name": key.name, "prefix": key.prefix, "user": key.user.get_username()}


def _subject(key: ApiKey) -> audit.Subject:
    return audit.Subject(scope=f"{KEY_SCOPE}{key.pk}")
