"""The package of the Teams app that an administrator uploads, with the address of this desk."""

from __future__ import annotations

import json
from io import BytesIO
from urllib.parse import urlsplit
from zipfile import ZIP_DEFLATED, ZipFile

from django.conf import settings
from django.contrib.staticfiles import finders

from approvals.json_types import JsonDict

SCHEMA = "https://developer.microsoft.com/json-schemas/teams/v1.19/MicrosoftTeams.schema.json"
#: The icons that Teams wants: in color, and a white outline on a transparent ground.
ICONS = {
    "color.png": "pausepoint/icon-192.png",
    "outline.png": "pausepoint/icon-outline-32.png",
}


def manifest(app_id: str) -> JsonDict:
    """Return the manifest of an app whose bot posts cards in teams, group chats and personal chats."""
    site = settings.PUBLIC_URL
    return {
        "$schema": SCHEMA,
        "manifestVersion": "1.19",
        "version": "1.0.0",
        "id": app_id,
        "developer": {
            "name": "Pausepoint",
            "websiteUrl": site,
            "privacyUrl": site,
            "termsOfUseUrl": site,
        },
        "icons": {"color": "color.png", "outline": "outline.png"},
        "name": {"short": "Pausepoint", "full": "Pausepoint"},
        "description": {
            "short": "Approve the calls of AI agents",
            "full": "Approve, reject and answer the requests of AI agents on cards.",
        },
        "accentColor": "#0f766e",
        "bots": [
            {
                "botId": app_id,
                "scopes": ["personal", "team", "groupChat"],
                "isNotificationOnly": False,
                "supportsFiles": False,
            }
        ],
        "validDomains": [urlsplit(site).hostname],
    }


def package(app_id: str) -> bytes:
    """Return the ZIP file with the manifest and the icons."""
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest(app_id), indent=2))
        for name, icon in ICONS.items():
            path = finders.find(icon)
            assert isinstance(path, str)
            archive.write(path, name)
    return content.getvalue()
