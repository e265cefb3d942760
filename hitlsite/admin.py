"""Hide allauth's table of mail addresses, which this site does not use, from the admin."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.contrib import admin

admin.site.unregister(EmailAddress)
