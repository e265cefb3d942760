"""Cookies are restricted to HTTPS when the public URL uses it."""

from __future__ import annotations

import os

import pytest

from tests.support.processes import starting
from tests.support.processes.server import PATIENCE


@pytest.mark.parametrize(("address", "secure"), [("https://desk.example.org", True), ("http://10.0.0.5:8000", False)])
def test_cookies_stay_on_https_where_the_site_is(address, secure):
    script = "from hitlsite import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE)"
    script += "; print(getattr(s, 'SESSION_COOKIE_NAME', ''), getattr(s, 'CSRF_COOKIE_NAME', ''))"
    env = os.environ | {"PUBLIC_URL": address}
    done = starting.run(["-c", script], env=env, timeout=PATIENCE)
    names = ["__Host-sessionid", "__Host-csrftoken"] if secure else []
    assert done.stdout.split() == [str(secure), str(secure), *names]
