"""`check --deploy` on complete and incomplete installations, run as an operator does."""

from __future__ import annotations

from tests.support.processes import redis_server
from tests.support.processes.deployed import new_database, site

PRODUCTION = {
    "DEBUG": "0",
    "SECRET_KEY": "k3wq9x7m" * 8,
    "PUBLIC_URL": "https://desk.example.org",
    "ALLOWED_HOSTS": "desk.example.org",
    "TRUST_FORWARDED_PROTO": "1",
    "TRUSTED_PROXIES": "1",
    "HSTS_SECONDS": "31536000",
}
CHECK = ("check", "--deploy", "--database", "default", "--fail-level", "WARNING")


def test_one_process_on_sqlite_behind_https_is_clean(tmp_path):
    with site(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path}/site.sqlite3", **PRODUCTION) as small:
        small.set_up()
        done = small.manage(*CHECK)
    assert (done.stdout.startswith("System check identified no issues ("), done.stderr) == (True, "")


def test_many_processes_on_postgresql_and_redis_are_clean(tmp_path):
    services = {"DATABASE_URL": new_database(), "REDIS_URL": redis_server.started().url}
    with site(tmp_path, **services, **PRODUCTION) as large:
        large.set_up()
        done = large.manage(*CHECK)
    assert (done.stdout.startswith("System check identified no issues ("), done.stderr) == (True, "")


def test_what_is_missing_is_named_with_what_to_do(tmp_path):
    with site(tmp_path, DEBUG="0", DATABASE_URL=f"sqlite:///{tmp_path}/site.sqlite3") as bare:
        bare.set_up()
        said = bare.manage(*CHECK, check=False)
    assert said.returncode == 1
    for name in ("hitlsite.W003", "hitlsite.W004", "security.W004", "security.W008", "security.W012", "security.W016"):
        assert f"({name})" in said.stderr, name


def test_https_makes_cookies_secure_redirects_and_is_believed_of_the_proxy_only(tmp_path):
    show = "from django.conf import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, getattr(s, 'SECURE_PROXY_SSL_HEADER', None))"  # noqa: E501
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path}/none.sqlite3"} | PRODUCTION
    with site(tmp_path, **settings) as behind_a_proxy:
        assert behind_a_proxy.run(show) == "True True True ('HTTP_X_FORWARDED_PROTO', 'https')\n"
    with site(tmp_path, **settings | {"TRUST_FORWARDED_PROTO": "0"}) as unsure:
        assert unsure.run(show) == "True True False None\n"
    with site(tmp_path, **settings | {"PUBLIC_URL": "http://desk.example.org"}) as plain:
        assert plain.run(show) == "False False False ('HTTP_X_FORWARDED_PROTO', 'https')\n"
