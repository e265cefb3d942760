"""Scripts that print a table and a ratio: `.venv/bin/python -m benchmarks.NAME`. Nothing is asserted about time."""

import os

import django

from tests.support import environment as environment

os.environ["DJANGO_SETTINGS_MODULE"] = "hitlsite.settings"
django.setup()
