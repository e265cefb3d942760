"""All settings of Pausepoint; configurable ones come from the environment, read once here (docs/reference/settings.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import django
from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured

from hitlsite import env, logs
from hitlsite.accounts.settings import *  # noqa: F403 - those of allauth

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = env.boolean("DEBUG", default=False)
SECRET_KEY = env.text(
    "SECRET_KEY", "only-for-development-never-for-real-use" if DEBUG else ""
)
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set. Set it to a long random text, or set DEBUG=1 to try Pausepoint on this machine."
    )
if not DEBUG and (len(SECRET_KEY) < 32 or len(set(SECRET_KEY)) < 8):
    raise ImproperlyConfigured(
        "SECRET_KEY is too easy to guess. Use at least 32 characters, 8 of them different, such as `openssl rand -hex 32`."
    )
#: Former keys, which still verify signatures and decrypt.
SECRET_KEY_FALLBACKS = env.comma_separated("SECRET_KEY_FALLBACKS")

ALLOWED_HOSTS = env.comma_separated(
    "ALLOWED_HOSTS", default=("localhost", "127.0.0.1", "[::1]") if DEBUG else ()
)
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
#: Browser apps on these origins may call the API, with a token and never with cookies.
CORS_ALLOWED_ORIGINS = env.origins("CORS_ALLOWED_ORIGINS")
#: Paths of the API: they accept keys and tokens, and refuse with problem documents. `/chats/` is for people.
CORS_URLS_REGEX = MACHINE_URLS_REGEX = r"^/(?:api/|scim/|mcp\Z|chat(?:/|\Z))"
CORS_ALLOW_HEADERS = [
    "authorization",
    "content-type",
    "idempotency-key",
    "if-none-match",
    "last-event-id",
]
CORS_ALLOW_HEADERS += ["mcp-method", "mcp-name", "mcp-protocol-version"]
CORS_ALLOW_HEADERS += ["traceparent", "tracestate"]
CORS_EXPOSE_HEADERS = [
    "etag",
    "idempotent-replayed",
    "retry-after",
    "x-vercel-ai-ui-message-stream",
]
PUBLIC_URL = env.text("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")

INSTALLED_APPS = [
    "channels",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "corsheaders",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "hitlsite",
    "approvals",
    "chats",
    *env.comma_separated("HITL_APPS"),
]

MIDDLEWARE = [
    "hitlsite.middleware.ContentSecurityPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "hitlsite.middleware.CacheControlMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "hitlsite.server.outages.OutageMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "approvals.access.callers.MachineMiddleware",
    "hitlsite.middleware.LanguageMiddleware",
    "hitlsite.middleware.LoginRequired",
    "hitlsite.middleware.WrongMethodPage",
    "hitlsite.middleware.RefuseNul",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "hitlsite.urls"
ASGI_APPLICATION = "hitlsite.asgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "hitlsite.middleware.navigation",
            ],
        },
    },
]

DATA_DIR = BASE_DIR / "var"
DATABASES = {"default": env.database("DATABASE_URL", DATA_DIR / "pausepoint.sqlite3")}
# Only for a SQLite file in this folder; otherwise the project may be read-only.
if DATABASES["default"]["NAME"] == DATA_DIR / "pausepoint.sqlite3":
    DATA_DIR.mkdir(exist_ok=True)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["TEST"] = {
        "NAME": env.text("TEST_DATABASE", str(DATA_DIR / "test.sqlite3"))
    }
_many_processes = DATABASES["default"]["ENGINE"].endswith("postgresql")
#: The processes that run turns: `here` (those that serve pages) or `workers` (`manage.py worker`, on PostgreSQL).
HITL_DISPATCH = env.choice(
    "HITL_DISPATCH",
    {"here", "workers"},
    default="workers" if _many_processes else "here",
)
if HITL_DISPATCH == "workers" and not _many_processes:
    raise ImproperlyConfigured(
        "HITL_DISPATCH=workers needs PostgreSQL. Set DATABASE_URL=postgresql://user:password@host:5432/name."
    )
#: Turns that one worker runs at once.
HITL_WORKER_TURNS = env.whole_number(
    "HITL_WORKER_TURNS", default=100, lowest=1, highest=10_000
)
if _many_processes:
    INSTALLED_APPS.append("procrastinate.contrib.django")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.redis_url("REDIS_URL")
#: Notifies pages of all processes through Redis, or of the only process in memory. There, one channel takes the messages of
#: all pages, and must still be in its groups a day later.
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "approvals.live.redis_layer.ReconnectingLayer",
        "CONFIG": {"hosts": [REDIS_URL]},
    }
    if REDIS_URL
    else {
        "BACKEND": "channels.layers.InMemoryChannelLayer",
        "CONFIG": {"capacity": 10_000, "group_expiry": float("inf")},
    }
}

#: Only for the counters of the log-in rate limits; it holds no permissions.
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "hitlsite.cache.FallbackCache",
        "LOCATION": [REDIS_URL],
        "KEY_PREFIX": "pausepoint",
        "OPTIONS": {
            "serializer": "hitlsite.cache.JsonSerializer",
            "socket_timeout": 1,
            "socket_connect_timeout": 1,
        },
    }
    if REDIS_URL
    else {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

# Replaces Django's first hasher, with the same hashes.
PASSWORD_HASHERS = [
    "hitlsite.accounts.hashing.PooledPBKDF2PasswordHasher",
    *global_settings.PASSWORD_HASHERS[1:],
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "approvals:dashboard"
LOGOUT_REDIRECT_URL = "account_login"
#: The number of proxies in front that add the client's address to `X-Forwarded-For`.
TRUSTED_PROXIES = env.whole_number("TRUSTED_PROXIES", default=0, lowest=0, highest=10)
#: Log-in at an OpenID provider; without an issuer, only with passwords. OIDC_ONLY refuses passwords.
OIDC_ISSUER = env.http_url("OIDC_ISSUER", "", example="https://login.example.org")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = env.text("OIDC_CLIENT_SECRET")
OIDC_NAME = env.text("OIDC_NAME", "single sign-on")
OIDC_ONLY = env.boolean("OIDC_ONLY", default=False)
OIDC_LINK_BY_EMAIL = env.boolean("OIDC_LINK_BY_EMAIL", default=False)
OIDC_VERIFIED_DOMAINS = env.comma_separated("OIDC_VERIFIED_DOMAINS")
OIDC_DEFAULT_ROLE = env.choice("OIDC_DEFAULT_ROLE", env.ROLES)
OIDC_GROUPS_CLAIM = env.text("OIDC_GROUPS_CLAIM", "groups")
OIDC_SCOPES = env.comma_separated("OIDC_SCOPES", ("openid", "profile", "email"))
OIDC_PRIVATE_HOSTS = env.comma_separated("OIDC_PRIVATE_HOSTS")
#: Roles that need a second factor, and the day from which people without one can only set one up.
SECOND_FACTOR_ROLES = env.choices("SECOND_FACTOR_ROLES", env.ALL_ROLES)
SECOND_FACTOR_FROM = env.day("SECOND_FACTOR_FROM")
#: Minutes without use, and hours since the log-in, after which a session ends, by role; 0 idle minutes mean never.
SESSION_IDLE_MINUTES = env.by_role(
    "SESSION_IDLE_MINUTES", default=0, lowest=0, highest=100_000
)
SIGN_IN_DAYS = env.whole_number("SIGN_IN_DAYS", default=180, lowest=1, highest=3650)
SESSION_HOURS = env.by_role("SESSION_HOURS", default=336, lowest=1, highest=8760)
SESSION_COOKIE_AGE = max(SESSION_HOURS.values()) * 3600
SESSION_ENGINE = "approvals.access.sessions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
if SESSION_COOKIE_SECURE:
    # Browsers accept cookies of these names only from this very host, over HTTPS: no other subdomain can plant one.
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
#: The proxy in front sets `X-Forwarded-Proto` and removes the client's header.
TRUST_FORWARDED_PROTO = env.boolean("TRUST_FORWARDED_PROTO", default=False)
if TRUST_FORWARDED_PROTO:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Only then: without that header every request would be redirected.
SECURE_SSL_REDIRECT = TRUST_FORWARDED_PROTO and PUBLIC_URL.startswith("https://")
SECURE_HSTS_SECONDS = env.whole_number(
    "HSTS_SECONDS", default=0, lowest=0, highest=63_072_000
)
# About subdomains and preload lists.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "hitlsite.views.csrf_failure"

#: Folders with translations; the first one with a text wins.
_folders = env.comma_separated("LOCALE_PATHS", (str(BASE_DIR / "locale"),))
LOCALE_PATHS = [Path(folder) for folder in _folders]
#: The language of pages, errors, messages and command lines for everyone who has not chosen one.
LANGUAGE_CODE = env.language("LANGUAGE_CODE", LOCALE_PATHS, default="en")
# In a form, all options of a schema may be selected, or all rows of a list of a thousand.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000
HITL_LANGUAGES = env.offered_languages(LOCALE_PATHS, LANGUAGE_CODE)
_codes = {code: code for code in HITL_LANGUAGES}
LANGUAGES = list((_codes | dict(global_settings.LANGUAGES)).items())
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.time_zone("TIME_ZONE", default="UTC")
HITL_WORKING_HOURS = env.working_hours("HITL_WORKING_HOURS")

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
#: The storage of request attachments: a folder, or any other Django storage, such as S3 with django-storages.
_storage = env.text("ATTACHMENTS_STORAGE")
STORAGES: dict[str, Any] = {
    **global_settings.STORAGES,
    "attachments": {
        "BACKEND": _storage or "hitlsite.storage.PrivateFiles",
        "OPTIONS": env.json_object(
            "ATTACHMENTS_OPTIONS",
            default={} if _storage else {"location": str(DATA_DIR / "attachments")},
        ),
    },
}
if not DEBUG:
    # Compressed once and named by content hash, so that browsers can cache them forever.
    STORAGES["staticfiles"] = {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    }
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG
LOGGING = logs.LOGGING

#: Dotted paths of the `Agent` objects for chats; the first is the default.
HITL_AGENTS = env.comma_separated("HITL_AGENTS", default=("chats.agent.demo.support",))
#: Dotted paths of functions that receive each `approvals.outbound.outbox.Event` at least once, in order per workflow.
HITL_EVENT_HANDLERS = env.comma_separated("HITL_EVENT_HANDLERS")
HITL_SECRET_FIELDS = env.comma_separated(
    "HITL_SECRET_FIELDS"
)  # in addition to `approvals.text.secrets.NAMES`
#: Allow webhooks to this machine, to private networks and over plain HTTP.
HITL_WEBHOOK_ALLOW_PRIVATE = env.boolean("HITL_WEBHOOK_ALLOW_PRIVATE", default=False)
#: Where the Web API of Slack is: elsewhere only for tests and proxies.
SLACK_API_URL = env.text("SLACK_API_URL", "https://slack.com/api/")
#: Where Microsoft is: elsewhere only for its national clouds, tests and proxies.
TEAMS_SERVICE_URL = env.text(
    "TEAMS_SERVICE_URL", "https://smba.trafficmanager.net/teams/"
)
TEAMS_LOGIN_URL = env.text("TEAMS_LOGIN_URL", "https://login.microsoftonline.com/")
TEAMS_KEYS_URL = env.text(
    "TEAMS_KEYS_URL", "https://login.botframework.com/v1/.well-known/keys"
)
HITL_NOTIFY_INTERVAL = env.whole_number(
    "HITL_NOTIFY_INTERVAL", default=300, lowest=60, highest=86_400
)  # seconds
#: Hours for which the stream of an ended turn is kept; its messages, steps and checkpoints stay.
HITL_KEEP_EVENTS = env.whole_number(
    "HITL_KEEP_EVENTS", default=24, lowest=1, highest=8760
)
#: Whether one administrator alone may loosen control; otherwise a second one has to confirm, if there are two.
HITL_ONE_ADMINISTRATOR = env.boolean("HITL_ONE_ADMINISTRATOR", default=False)
#: Whether programs' requests that only superusers may decide are refused instead of accepted with a warning.
HITL_REFUSE_UNDECIDABLE = env.boolean("HITL_REFUSE_UNDECIDABLE", default=False)
HITL_FRESH_SIGN_IN = env.whole_number(
    "HITL_FRESH_SIGN_IN", default=300, lowest=30, highest=86_400
)  # seconds
#: What needs a fresh log-in, besides requests for which a rule says so.
HITL_FRESH_SIGN_IN_FOR = env.choices(
    "HITL_FRESH_SIGN_IN_FOR", {"critical", "administration"}
)
HITL_FLOOD = env.whole_number(
    "HITL_FLOOD", default=20, lowest=0, highest=1000
)  # similar requests; 0 means never
#: Maximum requests and messages per key and minute, and wrong keys per client address; 0 means no limit.
HITL_ASKS_PER_MINUTE = env.whole_number(
    "HITL_ASKS_PER_MINUTE", default=600, lowest=0, highest=1_000_000
)
HITL_WRONG_KEYS_PER_MINUTE = env.whole_number(
    "HITL_WRONG_KEYS_PER_MINUTE", default=60, lowest=0, highest=1_000_000
)
#: Days that API keys work at most (0 if they may work for ever), and unless a person chooses others.
HITL_MAX_KEY_DAYS = env.whole_number(
    "HITL_MAX_KEY_DAYS", default=365, lowest=0, highest=env.KEY_DAYS
)
_most = HITL_MAX_KEY_DAYS or env.KEY_DAYS
HITL_KEY_DAYS = env.whole_number(
    "HITL_KEY_DAYS", default=min(365, _most), lowest=1, highest=_most
)
#: The scopes that people who are no administrators may give keys of their own.
HITL_OWN_KEY_SCOPES = env.choices(
    "HITL_OWN_KEY_SCOPES", env.KEY_SCOPES, default=("ask", "read")
)
#: For `/metrics`; without it, only programs on this machine may read them.
METRICS_TOKEN = env.text("METRICS_TOKEN")

_mail_server = {
    "host": env.text("EMAIL_HOST"),
    "port": env.whole_number("EMAIL_PORT", default=587, lowest=1, highest=65_535),
    "username": env.text("EMAIL_HOST_USER"),
    "password": env.text("EMAIL_HOST_PASSWORD"),
    "use_tls": env.boolean("EMAIL_USE_TLS", default=True)
    and not env.boolean("EMAIL_USE_SSL", default=False),
    "use_ssl": env.boolean("EMAIL_USE_SSL", default=False),
    "timeout": 10,
}
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "pausepoint@localhost")
#: Whether mail can be sent: by a server, or printed with DEBUG.
HITL_MAIL = bool(_mail_server["host"]) or DEBUG
if _mail_server["host"]:
    _mail_backend = "smtp"
else:
    _mail_backend = "console" if DEBUG else "dummy"
if _mail_backend == "dummy":
    # Without a mail server no mail is sent (HITL_MAIL), but Django 6.1 would report a missing setting.
    SILENCED_SYSTEM_CHECKS.append("mail.E001")
# Django 6.1 rejects the mail settings of 5.2 beside its own, and warns about them alone.
if django.VERSION >= (6, 1):
    MAILERS = {
        "default": {
            "BACKEND": f"django.core.mail.backends.{_mail_backend}.EmailBackend",
            "OPTIONS": _mail_server if _mail_backend == "smtp" else {},
        }
    }
else:
    EMAIL_BACKEND = f"django.core.mail.backends.{_mail_backend}.EmailBackend"
    EMAIL_HOST, EMAIL_PORT, EMAIL_TIMEOUT = (
        _mail_server[name] for name in ("host", "port", "timeout")
    )
    EMAIL_HOST_USER = _mail_server["username"]
    EMAIL_HOST_PASSWORD = _mail_server["password"]
    EMAIL_USE_TLS = _mail_server["use_tls"]
    EMAIL_USE_SSL = _mail_server["use_ssl"]
ANTHROPIC_API_KEY = env.text("ANTHROPIC_API_KEY")
_provider_without_key = "scripted" if DEBUG else ""
#: The model provider. `scripted` works offline and needs no key.
HITL_PROVIDER = env.choice(
    "HITL_PROVIDER",
    {"scripted", "anthropic", "openai", "openai-responses"},
    default="anthropic" if ANTHROPIC_API_KEY else _provider_without_key,
)
#: For `openai` and `openai-responses`: any server with OpenAI's Chat Completions or Responses API, and its key.
OPENAI_API_KEY = env.text("OPENAI_API_KEY")
OPENAI_BASE_URL = env.http_url("OPENAI_BASE_URL", "https://api.openai.com/v1")
#: The model, unless the agent names one.
HITL_MODEL = env.text(
    "HITL_MODEL",
    "" if HITL_PROVIDER in {"openai", "openai-responses"} else "claude-sonnet-5-5",
)
#: Total seconds for all tries of one call to a model until its first output.
HITL_MODEL_PATIENCE = env.whole_number(
    "HITL_MODEL_PATIENCE", default=120, lowest=10, highest=1800
)
