"""The places that the documentation names, such as **Administration > Policy**, are those of the product's menu."""

from __future__ import annotations

import re
from functools import cache

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.desk.pressing import browser
from tests.support.markup import Element, parse
from tests.support.root import ROOT

pytestmark = pytest.mark.django_db

PAGES = ("*.md", "docs/**/*.md", "examples/*/README.md", "clients/*/README.md", "benchmarks/*.md")
#: A place in emphasis; a link may be around it, and a line may break in it.
PLACE = re.compile(r"(?<!\*)(\*{1,2})((?:Administration|Settings) > [^*]+)\1(?!\*)")
#: Other ways to write a place, which this test would not check.
LOOSE = re.compile(r"(?:Administration|[Ss]ettings)\**\s*(?:>|→|->)|\*(?:Administration|Settings), [A-Z]")


@pytest.fixture
def administrator() -> Client:
    return browser(User.objects.create_superuser("root"))


def menu(page: Element) -> dict[str, dict[str, str]]:
    """Return the address of each entry, by the menu and the entry's label, as an administrator sees them.

    A group of entries is a menu of its own if the user menu names it, as it does *Administration*; all other groups are
    together under the name of the navigation.
    """
    (navigation,) = page.find("nav", class_="settings-pages")
    named = {link.words for link in page.find("nav", id="user-menu")[0].find("a")}
    labels = [group.words for group in navigation.find("p", class_="settings-group")]
    entries: dict[str, dict[str, str]] = {}
    for label, group in zip(labels, navigation.find("ul"), strict=True):
        name = label if label in named else navigation.attributes["aria-label"]
        entries.setdefault(name, {}).update({link.words: link.attributes["href"] for link in group.find("a")})
    return entries


def documents() -> dict[str, str]:
    """Return the text of every page on one line, by its name."""
    paths = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    return {path.relative_to(ROOT).as_posix(): " ".join(path.read_text().split()) for path in paths}


def test_the_menu_has_two_parts(administrator):
    assert list(menu(parse(administrator.get("/settings/").text))) == ["Settings", "Administration"]


def test_every_place_in_the_documentation_is_in_the_menu(administrator):
    entries = menu(parse(administrator.get("/settings/").text))
    read = cache(lambda address: parse(administrator.get(address).text).words)
    places, wrong = 0, []
    for name, text in documents().items():
        for _, place in PLACE.findall(text):
            places += 1
            root, entry, *deeper = place.split(" > ")
            address = entries[root].get(entry)
            # Beyond the menu, the page of the entry has the words.
            if address is None or [words for words in deeper if words not in read(address)]:
                wrong.append(f"{name}: {place}")
    assert wrong == []
    assert places > 30


def test_every_place_in_the_documentation_is_written_in_one_way():
    wrong = [
        f"{name}: {text[max(0, found.start() - 20) : found.end() + 30]}"
        for name, text in documents().items()
        for found in LOOSE.finditer(PLACE.sub("", text))
    ]
    assert wrong == []
