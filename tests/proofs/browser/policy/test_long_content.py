"""Long names, messages and reasons of votes, rules and absences wrap or are cut, and widen nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proofs.browser.policy.places import policy_places_of
from tests.proofs.browser.test_long_content import looked_at
from tests.support.processes.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    """A server of its own, so that its policy applies to no other test."""
    with Server(tmp_path_factory.mktemp("policy")) as running:
        yield running


def test_long_words_do_not_widen_the_pages_of_the_policy(windows, server):
    paths: dict[str, list[str]] = {}
    for who, path in policy_places_of(server).values():
        paths.setdefault(who, []).append(path)
    for who, of_person in paths.items():
        page = windows.open(server.person(who), "/", reduced_motion="reduce")
        assert looked_at(page, server, *of_person) == {}
