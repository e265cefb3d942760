"""Hide allauth's tables from the admin: addresses are not used here, and a link or factor added there would let someone in."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin

admin.site.unregister(
    [Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken]
)
