"""The environment of a test run, set before Django reads it: the embedded default, regardless of the shell's.

`TEST_ON=postgresql` starts a PostgreSQL, and the tests run on that: one for all processes of the run.
"""

import os

from tests.support.processes.shared import cluster

for name in (
    "DATABASE_URL",
    "REDIS_URL",
    "HITL_DISPATCH",
    "HITL_WORKER_TURNS",
    "TRUST_FORWARDED_PROTO",
    "TRUSTED_PROXIES",
    "HSTS_SECONDS",
    "HITL_KEEP_EVENTS",
    "METRICS_TOKEN",
    "HITL_AGENTS",
    "PUBLIC_URL",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "CORS_ALLOWED_ORIGINS",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "HITL_MODEL",
    "HITL_MODEL_PATIENCE",
    "HITL_EVENT_HANDLERS",
    "HITL_APPS",
    "HITL_WEBHOOK_ALLOW_PRIVATE",
    "HITL_NOTIFY_INTERVAL",
    "HITL_SECRET_FIELDS",
    "EMAIL_HOST",
    "EMAIL_PORT",
    "EMAIL_HOST_USER",
    "EMAIL_HOST_PASSWORD",
    "EMAIL_USE_TLS",
    "EMAIL_USE_SSL",
    "DEFAULT_FROM_EMAIL",
):
    os.environ.pop(name, None)
# Turns run in the process that a test drives; workers are tested with processes of their own.
# Thousands of tests are one machine, whose keys have the same numbers again and again.
os.environ.update(HITL_ASKS_PER_MINUTE="0", HITL_WRONG_KEYS_PER_MINUTE="0")
os.environ.update(HITL_DISPATCH="here", SECRET_KEY="only-for-tests", DEBUG="1", HITL_PROVIDER="scripted")
if os.environ.get("TEST_ON") == "postgresql":
    os.environ["DATABASE_URL"] = f"{cluster().url()}?pool=100"
