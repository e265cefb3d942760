"""Cookies are restricted to HTTPS when the public URL uses it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.root import ROOT


@pytest.mark.parametrize(("address", "secure"), [("https://desk.example.org", True), ("http://10.0.0.5:8000", False)])
def test_cookies_stay_on_https_where_the_site_is(address, secure):
    script = "from hitlsite import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE)"
    script += "; print(getattr(s, 'SESSION_COOKIE_NAME', ''), getattr(s, 'CSRF_COOKIE_NAME', ''))"
    env = os.environ | {"PUBLIC_URL": address}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    names = ["__Host-sessionid", "__Host-csrftoken"] if secure else []
    assert done.stdout.split() == [str(secure), str(secure), *names]
