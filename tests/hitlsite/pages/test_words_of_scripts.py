"""Every text that a script shows can be translated: it goes through `gettext` or `ngettext`, or stands in the page's data."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from tests.support.root import ROOT

SCRIPTS = ROOT / "hitlsite" / "static" / "pausepoint"
COMMENT = re.compile(r"(?<!:)//[^\n]*")
CALL = re.compile(r'\bn?gettext\((?:"[^"]*"(?:,\s*)?)+')
TEXT = re.compile(r'"([^"\n]*)"|`([^`]*)`')
#: A sentence, or one word as a page shows it; names of events, keys and classes are written otherwise.
SHOWN = re.compile(r"[A-Z0-9$][^\s.#\[\]>=]* [^.#\[\]>=]*[a-z]|(?:[A-Z][a-z]+|just now)[….]?")
#: Names of keys and of the browser's own objects, which no one reads.
NAMES = {"Enter", "Escape", "Notification", "Slash", "Tab"}


def bare_texts(script: str) -> list[str]:
    left = CALL.sub("(", COMMENT.sub("", script))
    texts = [found[1] or found[2] or "" for found in TEXT.finditer(left)]
    return [text for text in texts if SHOWN.fullmatch(text.strip(" .")) and text not in NAMES]


@pytest.mark.parametrize(
    ("script", "bare"),
    [
        ('say("Press the button.");', ["Press the button."]),
        ('say(gettext("Press the button."));', []),
        ('mark("on", "Live");', ["Live"]),
        ("say(`${count} new requests`);", ["${count} new requests"]),
        ('say(ngettext("%s request", "%s requests", count));', []),
        ('row.querySelector(".a > .b"); key === "Enter"; // "Like this"', []),
    ],
)
def test_the_reader_of_scripts_finds_what_is_bare(script, bare):
    assert bare_texts(script) == bare


def test_no_script_shows_text_that_cannot_be_translated():
    found = {path.name: bare_texts(path.read_text()) for path in SCRIPTS.glob("*.js")}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_script_catalog_is_public_and_cacheable(client):
    words = client.get(reverse("words"))
    assert (words.status_code, words["Content-Type"]) == (200, 'text/javascript; charset="utf-8"')
    assert words["Cache-Control"] == "max-age=3600"
    assert b"globals.ngettext" in words.content
