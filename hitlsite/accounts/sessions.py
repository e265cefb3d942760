"""Django's sessions in the database, without asking it for keys that it cannot hold."""

from __future__ import annotations

from django.contrib.sessions.backends import db


class SessionStore(db.SessionStore):
    def __init__(self, session_key: str | None = None) -> None:
        # A cookie may say anything, and PostgreSQL refuses a NUL even in a query.
        possible = session_key is not None and session_key.isascii() and session_key.isalnum()
        super().__init__(session_key if possible else None)
