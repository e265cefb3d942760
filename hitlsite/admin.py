"""What the admin does not show: addresses of mail that allauth keeps, and that this site does not use."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.contrib import admin

admin.site.unregister(EmailAddress)
