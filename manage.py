#!/usr/bin/env python
"""Django's command line for Pausepoint."""

import gc
import os
import sys

# Before the first import: almost everything created during a start stays, but with Python's threshold of 700 the collector would
# scan it hundreds of times, a fifth of the start.
gc.set_threshold(50_000, 20, 50)

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.core.management import execute_from_command_line  # noqa: E402

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitlsite.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Pausepoint cannot start: {error}")
