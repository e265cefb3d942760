"""A folder of files that this process cannot write to is reported before the first file comes."""

from __future__ import annotations

import pytest

from hitlsite.checks import check_set_up
from hitlsite.health import readiness, system
from hitlsite.storage import unwritable_folder
from tests.support.desk.files import folder

__all__ = ["folder"]
pytestmark = pytest.mark.django_db


def file_lines() -> list[tuple[str, str]]:
    return [(line.state, line.summary) for line in system._files()]


def test_a_folder_that_is_made_with_the_first_file_is_fine(folder):
    assert (folder.exists(), unwritable_folder(), readiness.find_problems()) == (False, None, [])
    assert file_lines() == [(system.OK, "Can be stored")]


def test_a_folder_that_cannot_be_written_to_is_reported_everywhere(folder):
    # Root may write to every folder, but not below a file.
    folder.write_text("")
    assert unwritable_folder() == folder
    assert readiness.find_problems() == ["files: this process cannot write to their folder; see `manage.py check`"]
    assert [(found.id, found.msg) for found in check_set_up() if "Files" in found.msg] == [
        ("hitlsite.W009", f"Files of requests cannot be stored: this process cannot write to {folder}.")
    ]
    assert file_lines() == [(system.BAD, f"This process cannot write to {folder}")]


def test_files_in_another_storage_are_not_looked_for_on_this_machine(settings):
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "attachments": memory}
    assert unwritable_folder() is None
