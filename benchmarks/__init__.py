"""Scripts that print a table and a ratio: `.venv/bin/python -m benchmarks.NAME`. They assert no times."""

import os

import django

from tests.support import environment as environment

os.environ["DJANGO_SETTINGS_MODULE"] = "hitlsite.settings"
django.setup()
