"""The settings of Pausepoint with the style guide: `DJANGO_SETTINGS_MODULE=docs.styleguide.settings make demo`."""

from __future__ import annotations

from pathlib import Path

from hitlsite.settings import *  # noqa: F403
from hitlsite.settings import TEMPLATES as OF_THE_PRODUCT

HERE = Path(__file__).parent
ROOT_URLCONF = "docs.styleguide.urls"
TEMPLATES = [
    given | {"DIRS": [HERE / "templates", *given["DIRS"]]} for given in OF_THE_PRODUCT
]  # type: ignore[operator]
STATICFILES_DIRS = [HERE / "static"]
