"""Recognize secrets: values in the format of known keys, and telling names of fields, variables, headers and options.

The patterns take time linear in the text.

A truncated text may end inside a key: `{4,}+\\Z` matches the rest of it there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A format of keys. A text without any of the `hints` contains none; the pattern has a group for the secret part.

    If the pattern has a group `name`, that must be the name of a secret.
    """

    label: Any
    hints: Sequence[str]
    pattern: re.Pattern[str]
    #: Whether the last characters may be shown, so that people can tell which key it is.
    shows_end: bool = True


def _key(label: Any, hints: str, pattern: str, *, shows_end: bool = True) -> Shape:
    return Shape(label, tuple(hints.split()), re.compile(pattern), shows_end)


#: The value of an assignment in a command. `$NAME` only refers to another variable.
_ASSIGNED = r"""(?P<secret>"[^"$\n⟨]{1,500}(?:"|\Z)|'[^'\n⟨]{1,500}(?:'|\Z)|[^\s"'$;|&⟨\\][^\s"';|&\\]{3,500})"""
#: The name of a header; one without a dash might begin a sentence.
_HEADER = r"(?P<name>(?i:authorization|cookie)|[A-Za-z][A-Za-z0-9]{0,40}(?:-[A-Za-z0-9]{1,40}){1,5})"

SHAPES = (
    _key(
        _("private key"),
        "-----BEGIN",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        shows_end=False,
    ),
    _key(
        _("AWS key"),
        "AKIA ASIA ABIA ACCA",
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)(?:[A-Z0-9]{16}(?![A-Za-z0-9])|[A-Z0-9]{4,16}\Z)",
    ),
    _key(
        _("GitHub token"),
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"gh[pousr]_(?:[A-Za-z0-9]{30,}+|[A-Za-z0-9]{4,}+\Z)",
    ),
    _key(_("GitHub token"), "github_pat_", r"github_pat_(?:\w{22,}+|\w{4,}+\Z)"),
    _key(_("GitLab token"), "glpat-", r"glpat-(?:[\w-]{20,}+|[\w-]{4,}+\Z)"),
    _key(
        _("Slack token"),
        "xox",
        r"xox[abeoprs]-(?:[A-Za-z0-9-]{10,}+|[A-Za-z0-9-]{4,}+\Z)",
    ),
    _key(_("Slack token"), "xapp-", r"xapp-(?:[A-Za-z0-9-]{10,}+|[A-Za-z0-9-]{4,}+\Z)"),
    _key(
        _("Slack webhook"),
        "hooks.slack.com/",
        r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{4,}+",
    ),
    _key(
        _("Stripe key"),
        "k_live_ k_test_",
        r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_(?:[A-Za-z0-9]{10,}+|[A-Za-z0-9]{4,}+\Z)",
    ),
    _key(_("webhook secret"), "whsec_", r"whsec_(?:[\w+/=-]{16,}+|[\w+/=-]{4,}+\Z)"),
    _key(
        _("Anthropic key"), "sk-ant-", r"(?<![\w-])sk-ant-(?:[\w-]{20,}+|[\w-]{4,}+\Z)"
    ),
    _key(_("OpenAI key"), "sk-", r"(?<![\w-])sk-(?!ant-)(?:[\w-]{20,}+|[\w-]{4,}+\Z)"),
    _key(_("Google key"), "AIza", r"AIza(?:[\w-]{35}|[\w-]{4,}+\Z)"),
    _key(
        _("npm token"),
        "npm_",
        r"(?<![A-Za-z0-9_])npm_(?:[A-Za-z0-9]{36}|[A-Za-z0-9]{4,}+\Z)",
    ),
    _key(_("PyPI token"), "pypi-", r"pypi-(?:[\w-]{50,}+|[\w-]{4,}+\Z)"),
    _key(
        _("Hugging Face token"),
        "hf_",
        r"(?<![A-Za-z0-9_])hf_(?:[A-Za-z0-9]{30,}+|[A-Za-z0-9]{4,}+\Z)",
    ),
    _key(
        _("SendGrid key"),
        "SG.",
        r"(?<![A-Za-z0-9])SG\.(?:[\w-]{16,32}+\.[\w-]{16,64}+|[\w.-]{4,}+\Z)",
    ),
    _key(
        _("Pausepoint key"),
        "pp_ ppt_",
        r"(?<![A-Za-z0-9_])(?:pp_[0-9a-f]{8}_[\w-]{20,}+|pp_[0-9a-f]{4,8}(?:_[\w-]*+)?\Z|ppt_[\w.:-]{20,}+|ppt_[\w.:-]{4,}+\Z)",
    ),
    _key(
        _("JSON Web Token"),
        "eyJ",
        r"(?<![\w-])eyJ(?:[\w-]{8,}+\.eyJ[\w-]{4,}+(?:\.[\w-]*+)?|[\w-]{8,}+(?:\.[\w-]*+)?\Z)",
    ),
    _key(
        _("bearer token"),
        "earer EARER",
        r"(?i:\bbearer)[ \t]{1,4}([\w.~+/=-]{16,}+|[\w.~+/=-]{4,}+\Z)",
    ),
    _key(
        _("password"),
        "asic",
        r"(?i:\bauthorization:[ \t]{0,4}basic[ \t]{1,4})([\w+/=]{4,}+)",
        shows_end=False,
    ),
    _key(
        _("password"),
        "://",
        r"(?<=://)[^\s/:@?#\"'⟨]{0,100}:([^\s/@?#\"'⟨]{1,200})@",
        shows_end=False,
    ),
    # Environment variables, command options and headers, judged by name.
    _key(
        _("secret value"),
        "PASSWORD= PASSWD= PASSPHRASE= PASSCODE= PASS= PWD= SECRET= SECRETS= TOKEN= KEY= COOKIE= CREDENTIALS= OTP=",
        rf"(?<![A-Za-z0-9_])(?P<name>[A-Z0-9_]{{1,80}})={_ASSIGNED}",
        shows_end=False,
    ),
    _key(
        _("secret value"),
        "--",
        rf"(?<![\w-])--(?P<name>[A-Za-z][A-Za-z0-9_-]{{1,60}})(?:=|[ \t]{{1,4}}(?!-)){_ASSIGNED}",
        shows_end=False,
    ),
    _key(
        _("secret value"),
        "uthorization: UTHORIZATION: ookie: OOKIE: -Key: -key: -KEY: -Token: -token: -TOKEN: -Secret: -secret: -SECRET: "
        "-Password: -password: -PASSWORD:",
        rf"(?:(?m:^)|(?<=[\"'])|(?<=-H)|(?<=-H )|(?<=--header )|(?<=--header=)){_HEADER}:[ \t]{{0,4}}"
        # `$NAME` only refers to a variable.
        r"""(?!(?:[A-Za-z]{1,20} )?\$\{?\w{1,60}\}?(?:["'\s]|\Z))(?P<secret>[^"'\s⟨][^"'\n⟨]{0,500}+)(?!⟨)""",
        shows_end=False,
    ),
)
#: The length of the shortest text that can contain a key.
SHORTEST = 8
_HINTS = tuple((hint, shape) for shape in SHAPES for hint in shape.hints)


def hints_in(text: str) -> Sequence[Shape]:
    """Return the formats that may occur in the text."""
    # Nearly all texts contain none, and searching for constants is cheap.
    if len(text) < SHORTEST:
        return ()
    return list(dict.fromkeys(shape for hint, shape in _HINTS if hint in text))


#: Names of secret fields, without dashes, dots and underscores. HITL_SECRET_FIELDS adds more.
NAMES = frozenset(
    """
    password passwords passwd passphrase passcode pwd newpassword oldpassword currentpassword userpassword dbpassword
    databasepassword secret secrets clientsecret secretkey secretaccesskey awssecretaccesskey sharedsecret signingsecret
    webhooksecret apikey apikeys apisecret apitoken xapikey accesskey privatekey encryptionkey sshkey signingkey masterkey
    accountkey token accesstoken refreshtoken idtoken authtoken bearertoken sessiontoken awssessiontoken bottoken
    authorization proxyauthorization cookie setcookie credentials otp totp cvv cvc pin
    """.split()  # noqa: SIM905 - a list would take fifty lines
)
#: Last words of longer secret names, as in `SMTP_PASSWORD` and `stripeApiKey`.
_LAST = frozenset(
    """
    password passwords passwd passphrase passcode pwd secret secrets secretkey apikey apikeys accesskey privatekey
    encryptionkey sshkey signingkey masterkey accountkey token cookie credentials otp totp cvv cvc
    dbpass smtppass mailpass userpass adminpass rootpass loginpass authpass mysqlpass redispass ftppass
    """.split()  # noqa: SIM905 - as above
)
#: Word endings of secret names, as in `PGPASSWORD`.
_ENDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
)
#: Names with *token* in the sense of a position in a list or a counted piece of text.
_HARMLESS = (
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "synctoken",
    "maxtoken",
    "pertoken",
)
#: Longer names are not checked.
MAX_NAME = 200
_PLAIN = str.maketrans("", "", "-_. ")
#: The words of a name, including camel case such as `stripeAPIKey`.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


def plain_name(name: str) -> str:
    """Return a field name in normalized form: `API-Key` and `api_key` are the same name."""
    return name.translate(_PLAIN).casefold()


def says_secret(name: str) -> bool:
    """Return whether a name is that of a secret, by its last words, so that `password_hint` is not."""
    return len(name) <= MAX_NAME and _says_secret(name)


@lru_cache(maxsize=2_000)
def _says_secret(name: str) -> bool:
    plain = plain_name(name).rstrip("0123456789")
    if plain in NAMES:
        return True
    if plain.endswith(_HARMLESS):
        return False
    words = [word.casefold() for word in _WORD.findall(name)]
    return plain.endswith(_ENDS) or any(
        "".join(words[-count:]) in _LAST for count in (1, 2, 3)
    )
