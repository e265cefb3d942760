"""The issuers of the tokens with which Teams calls, and the addresses of their keys."""

from __future__ import annotations

from django.conf import settings

BOT_FRAMEWORK = "https://api.botframework.com"


def issuers_of(tenant: str) -> dict[str, str]:
    """Return the address of the keys of each issuer: the Bot Framework, and Entra in both of its versions."""
    login = settings.TEAMS_LOGIN_URL
    entra = f"{login}{tenant}/discovery/v2.0/keys"
    return {
        BOT_FRAMEWORK: settings.TEAMS_KEYS_URL,
        f"{login}{tenant}/v2.0": entra,
        f"https://sts.windows.net/{tenant}/": entra,
    }
