"""Make, change and revoke API keys, on record."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.keys import DEFAULT_SCOPES, KEY, KEY_SCOPE, hash_of
from approvals.access.tool_lists import ToolLists, lists_from
from approvals.administration.account_mails import Change, tell_person
from approvals.administration.changeable import require_changeable
from approvals.db.canonical_json import utc
from approvals.exceptions import NotAllowed, NotFound
from approvals.models.keys import ApiKey
from approvals.record import audit
from approvals.states import Door


def create_key(
    user: User,
    *,
    name: str,
    scopes: tuple[str, ...] = DEFAULT_SCOPES,
    text: str = "",
    expires_at: datetime | None = None,
    by: User | None = None,
    via: str = Door.SYSTEM,
) -> tuple[ApiKey, str]:
    """Create a key, on record; return it with its secret text, which is shown once and never stored.

    `text` is the secret text if it is not to be random. NotAllowed if `by` may not make such a key for someone else.
    """
    text = text or f"pp_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
    shape = KEY.fullmatch(text)
    assert shape is not None, "another shape would never be found"
    if by is not None and by.pk != user.pk:
        _require_key_for_other(user, scopes, by)
    with transaction.atomic():
        key = ApiKey.objects.create(
            user=user,
            name=name,
            prefix=shape["prefix"],
            secret_hash=hash_of(text),
            scopes=list(scopes),
            expires_at=expires_at,
        )
        data = _described(key) | {"scopes": key.scopes} | ({"expires_at": utc(expires_at)} if expires_at else {})
        audit.record("key.created", _subject(key), data=data, actor=by, via=via, at=key.created_at)
        if by is not None:
            tell_person(user, Change.KEY, by=by, detail=f"{name} ({', '.join(scopes)})")
    return key, text


def _require_key_for_other(user: User, scopes: Collection[str], by: User) -> None:
    """Raise NotAllowed where a key would let its maker decide as someone else, or act as someone with more rights."""
    require_changeable(user, by)
    if "decide" in scopes:
        raise NotAllowed(_("A key that acts for someone else cannot decide. Only they can make one that does."))


def revoke_keys_of(person: User, *, by: User, via: Door) -> None:
    """Revoke all keys of someone who is deactivated: otherwise they would work again with the person."""
    for key_id in ApiKey.objects.filter(user=person, revoked_at=None).values_list("pk", flat=True):
        revoke_key(key_id, by=by, via=via)


def revoke_key(key_id: int, *, by: User, via: str) -> bool:
    """Revoke a key, on record; return False if there is no such key, or it was revoked before."""
    now = timezone.now()
    with transaction.atomic():
        if not ApiKey.objects.filter(pk=key_id, revoked_at=None).update(revoked_at=now):
            return False
        key = ApiKey.objects.select_related("user").get(pk=key_id)
        audit.record("key.revoked", _subject(key), data=_described(key), actor=by, via=via, at=now)
        tell_person(key.user, Change.KEY_REVOKED, by=by, detail=key.name)
    return True


def change_tool_lists(key_id: int, lists: ToolLists, *, by: User, via: str) -> bool:
    """Store which calls of coding agents wait for a person, on record; return False if nothing changes.

    Invalid if a list is out of bounds; NotFound if there is no such key, or it was revoked; NotAllowed if it acts for
    someone whom `by` may not change.
    """
    lists.check()
    with transaction.atomic():
        key = ApiKey.objects.select_for_update(of=("self",)).select_related("user").filter(pk=key_id).first()
        if key is None or key.revoked_at is not None:
            raise NotFound(_("API key not found. It may be revoked already."))
        if key.user_id != by.pk:
            require_changeable(key.user, by)
        before = lists_from(key.tool_lists)
        if key.tool_lists is not None and before == lists:
            return False
        key.tool_lists = lists.document()
        key.save(update_fields=["tool_lists"])
        data = _described(key) | {"tool_lists": lists.document(), "before": before.document()}
        audit.record("key.changed", _subject(key), data=data, actor=by, via=via)
        tell_person(key.user, Change.KEY_CHANGED, by=by, detail=key.name)
    return True


def _described(key: ApiKey) -> dict[str, object]:
    return {"name": key.name, "prefix": key.prefix, "user": key.user.get_username()}


def _subject(key: ApiKey) -> audit.Subject:
    return audit.Subject(scope=f"{KEY_SCOPE}{key.pk}")
