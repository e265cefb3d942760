"""Save and discard the draft of the policy that a person works on. Only applying it goes on record."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.db.canonical_json import clean_text
from approvals.models import SavedDraft
from approvals.policy.policies import MAX_BYTES


def save_draft(text: str, *, based_on: int | None, continues: str, by: User) -> str:
    """Save a draft and return its id; empty if the person has another one than the draft that this one continues."""
    saved = SavedDraft.objects.filter(person=by).first()
    if len(text) > MAX_BYTES or (saved is not None and str(saved.pk) != continues):
        return ""
    values = {"text": clean_text(text), "based_on": based_on}
    saved, _created = SavedDraft.objects.update_or_create(
        person=by, defaults=values | {"saved_at": timezone.now()}
    )
    return str(saved.pk)


def discard_draft(*, by: User) -> None:
    SavedDraft.objects.filter(person=by).delete()
