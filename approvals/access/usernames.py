"""Validate names of people, so that no name can be mistaken for someone else's."""

from __future__ import annotations

import re
import unicodedata

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from approvals.text.names import describe_letter, foreign_letters, full_name, skeleton
from approvals.text.text import INVISIBLE

#: Maximum length. The display name is Django's first name, which every read of a user has; rows have little room for it.
MAX_DISPLAY_NAME = 60
#: Characters allowed between the letters of a display name. Without @ and brackets, it cannot fake a username.
PUNCTUATION = " .,'\u2019-\u00b7"
#: Names that pages and the record use for non-persons and whole roles, without spaces, in English and German.
NO_PERSON = frozenset({
    *("system", "thesystem", "policy", "thepolicy", "rule", "therule", "grant", "thegrant", "deadline", "thedeadline"),
    *("pausepoint", "apikey", "noone", "nobody", "everyone", "anyone", "regelwerk", "dasregelwerk", "regel"),
})  # fmt: skip
ROLES = frozenset({
    *("admin", "administrator", "administration", "superuser", "staff", "root", "support", "security"),
    *("approver", "auditor", "requester", "genehmiger", "prüfer"),
})  # fmt: skip
#: Digits that are read as letters, and the letter that looks like l in capitals.
_READ_AS = str.maketrans({"i": "l", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b"})
#: More combining marks on one letter than any language needs; they would cover the lines above.
_STACKED = re.compile(
    r"(?:[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]){3}"
)


def shown_person(person: User) -> str:
    """Return a person's name for display, such as “Bob Miller (@bob)”."""
    return full_name(person.get_username(), person.first_name)


def validate_new_username(name: str) -> None:
    """Raise ValidationError for a new name that reads like another one; existing names stay valid."""
    if User.objects.filter(username=name).exists():
        return
    if INVISIBLE.search(name):
        raise ValidationError(_("The username contains an invisible character."))
    if letters := foreign_letters(name):
        listed = ", ".join(map(describe_letter, letters))
        raise ValidationError(
            _("The username mixes letters of different alphabets: %(letters)s"),
            params={"letters": listed},
        )
    if _read(name) in {*map(_read, NO_PERSON)}:
        raise ValidationError(_("This name is reserved. Choose another one."))
    look = _look(name)
    bare = _bare(name)
    for taken, display_name in User.objects.values_list(
        "username", "first_name"
    ).iterator():
        # Names that differ only in case are reported elsewhere.
        alike = taken.casefold() != name.casefold() and _look(taken) == look
        if alike or (display_name and _bare(display_name) == bare):
            raise ValidationError(
                _("The username looks like an existing one: %(taken)s"),
                params={"taken": taken},
            )


def clean_display_name(text: str) -> str:
    """Return a display name with single spaces and normalized letters."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def validate_display_name(name: str, person: User) -> None:
    """Raise ValidationError for a display name that could mislead, or that reads like someone else's name."""
    if not name:
        return
    if len(name) > MAX_DISPLAY_NAME:
        message = _("Use at most %(most)d characters.")
        raise ValidationError(message, params={"most": MAX_DISPLAY_NAME})
    if not all(map(_may_be_in_display_name, name)) or _STACKED.search(
        unicodedata.normalize("NFD", name)
    ):
        raise ValidationError(
            _("Use only letters, digits, spaces, and these characters: . , ' -"),
        )
    if not any(map(str.isalpha, name)):
        raise ValidationError(_("Use at least one letter."))
    if letters := foreign_letters(name):
        listed = ", ".join(map(describe_letter, letters))
        message = _("The name mixes letters of different alphabets: %(letters)s")
        raise ValidationError(message, params={"letters": listed})
    read = _read(name)
    if read in {*map(_read, NO_PERSON | ROLES)} and read != _read(
        person.get_username()
    ):
        raise ValidationError(_("This name is reserved. Choose another one."))
    others = User.objects.exclude(pk=person.pk).values_list("username", "first_name")
    if any(
        read in {_read(username), _read(display_name)}
        for username, display_name in others.iterator()
    ):
        raise ValidationError(
            _("This looks like someone else's name. Choose another one."),
        )


def _may_be_in_display_name(character: str) -> bool:
    listed = character in PUNCTUATION or unicodedata.category(character)[0] in "LMN"
    return listed and not INVISIBLE.fullmatch(character)


def _look(name: str) -> str:
    """Return the form that names which look alike share, regardless of case."""
    return skeleton(skeleton(name).casefold())


def _read(name: str) -> str:
    """Return the form that names which read alike share, as `Adm1n` reads as Admin."""
    return _bare(name).translate(_READ_AS)


def _bare(name: str) -> str:
    """Return the form that names which differ only in spaces and punctuation share."""
    return "".join(filter(str.isalnum, _look(name)))
