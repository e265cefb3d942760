"""Hide allauth's table of mail addresses from the admin: this site does not use it."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.contrib import admin

admin.site.unregister(EmailAddress)
