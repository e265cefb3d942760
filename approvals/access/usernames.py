"""Which username a new person may have: one that no one mistakes for the name of someone else."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from approvals.text.confusables import describe_letter, foreign_letters, skeleton
from approvals.text.text import INVISIBLE


def validate_new_username(name: str) -> None:
    """Raise ValidationError for a name that reads like another one; whoever has such a name already keeps it."""
    if User.objects.filter(username=name).exists():
        return
    if INVISIBLE.search(name):
        raise ValidationError(_("The username contains an invisible character."), code="lookalike")
    if letters := foreign_letters(name):
        listed = ", ".join(map(describe_letter, letters))
        raise ValidationError(
            _("The username mixes letters of different alphabets: %(letters)s"),
            code="lookalike",
            params={"letters": listed},
        )
    look = _look(name)
    for taken in User.objects.values_list("username", flat=True).iterator():
        # Names that differ in upper and lower case only are told so elsewhere.
        if taken.casefold() != name.casefold() and _look(taken) == look:
            raise ValidationError(
                _("The username looks like an existing one: %(taken)s"), code="lookalike", params={"taken": taken}
            )


def _look(name: str) -> str:
    """Return what names that look alike have in common, in whatever case they are written."""
    return skeleton(skeleton(name).casefold())
