"""The page with the state of the system."""

from __future__ import annotations

import tomllib

import pytest
from django.conf import settings

from hitlsite import __version__
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser


def test_version_is_that_of_the_package():
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    assert __version__ == project["version"]


@pytest.mark.django_db
def test_system_page_names_the_version_of_pausepoint():
    assert f"Pausepoint {__version__}, Django " in browser(administrator()).get("/settings/system/").text
