"""Which names say that their value is secret: of fields, variables, headers and options of commands."""

from __future__ import annotations

import re
from functools import lru_cache

#: Names of fields whose values are secret, without dashes, dots and underscores. HITL_SECRET_FIELDS adds more.
NAMES = frozenset(
    """
    password passwords passwd passphrase passcode pwd newpassword oldpassword currentpassword userpassword dbpassword
    databasepassword secret secrets clientsecret secretkey secretaccesskey awssecretaccesskey sharedsecret signingsecret
    webhooksecret apikey apikeys apisecret apitoken xapikey accesskey privatekey encryptionkey sshkey signingkey masterkey
    accountkey token accesstoken refreshtoken idtoken authtoken bearertoken sessiontoken awssessiontoken bottoken
    authorization proxyauthorization cookie setcookie credentials otp totp cvv cvc pin
    """.split()  # noqa: SIM905 - a list would take fifty lines
)
#: The last words of longer names that say it, as in `SMTP_PASSWORD` and `stripeApiKey`.
_LAST = frozenset(
    """
    password passwords passwd passphrase passcode pwd secret secrets secretkey apikey apikeys accesskey privatekey
    encryptionkey sshkey signingkey masterkey accountkey token cookie credentials otp totp cvv cvc
    dbpass smtppass mailpass userpass adminpass rootpass loginpass authpass mysqlpass redispass ftppass
    """.split()  # noqa: SIM905 - as above
)
#: The ends of words that say it, as in `PGPASSWORD`.
_ENDS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "secretkey", "accesskey", "privatekey")
#: Tokens that are places in a list, or pieces of text that are counted.
_HARMLESS = ("pagetoken", "nexttoken", "continuationtoken", "synctoken", "maxtoken", "pertoken")
#: Longer names are not looked up.
MAX_NAME = 200
_PLAIN = str.maketrans("", "", "-_. ")
#: The words of a name, also in one such as `stripeAPIKey`.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


def plain_name(name: str) -> str:
    """Return the name of a field as it is compared: `API-Key` and `api_key` are one name."""
    return name.translate(_PLAIN).casefold()


def says_secret(name: str) -> bool:
    """Return whether a name says that its value is secret: by its last words, because `password_hint` is none."""
    return len(name) <= MAX_NAME and _says_secret(name)


@lru_cache(maxsize=2_000)
def _says_secret(name: str) -> bool:
    plain = plain_name(name).rstrip("0123456789")
    if plain in NAMES:
        return True
    if plain.endswith(_HARMLESS):
        return False
    words = [word.casefold() for word in _WORD.findall(name)]
    return plain.endswith(_ENDS) or any("".join(words[-count:]) in _LAST for count in (1, 2, 3))
