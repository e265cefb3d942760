"""Every text that a template shows can be translated: it is in `translate` or `blocktranslate`."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tests.support.root import ROOT

TEMPLATES = ROOT / "templates"
#: Names, which are the same in every language.
NAMES = {"Pausepoint", "JSON", "CSV", "JSONL", "OCSF", "API", "OpenAPI 3.1", "p95", "SHA-256", "Microsoft Teams"}
#: Attributes whose text people read or hear.
READ = {"title", "alt", "placeholder", "aria-label", "aria-description", "aria-valuetext", "hx-confirm", "label"}
#: Content of these is for machines.
CODE = {"code", "kbd", "pre", "script", "style"}
TRANSLATED = re.compile(
    r"{%\s*blocktranslate\b.*?{%\s*endblocktranslate\s*%}|{%\s*comment\b.*?{%\s*endcomment\s*%}|{#.*?#}|{%.*?%}|{{.*?}}",
    re.DOTALL,
)


class Texts(HTMLParser):
    """Gathers the texts of a template that hold a letter."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.code += tag in CODE
        for name, value in attrs:
            if name in READ:
                self.hold(value or "")

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in CODE

    def handle_data(self, data: str) -> None:
        if not self.code:
            self.hold(data)

    def hold(self, text: str) -> None:
        for part in text.split("·"):
            words = " ".join(part.split()).strip(" ()/")
            if words not in NAMES and re.search(r"[^\W\d_]", words):
                self.found.append(words)


def bare_texts(template: str) -> list[str]:
    texts = Texts()
    # A blank in place of a tag, lest two words become one.
    plain = TRANSLATED.sub(" ", template)
    # A template without any element holds the attributes of one.
    texts.feed(plain if "<" in plain else f"<p {plain}></p>")
    texts.close()
    return texts.found


@pytest.mark.parametrize(
    ("template", "bare"),
    [
        ("<p>Hello</p>", ["Hello"]),
        ('title="Hello" class="wide"', ["Hello"]),
        ("<p>{% translate 'Hello' %}, {{ name }}: {# aside #}</p>", []),
        ("<p>{% blocktranslate count n=n %}one{% plural %}many{% endblocktranslate %} more</p>", ["more"]),
        ("<a title='Read {{ it }}' class='wide'><code>curl</code> Pausepoint</a>", ["Read"]),
        ('<a{% if x %} class="on"{% endif %} aria-label="{% translate "x" %}">1</a>', []),
    ],
)
def test_the_reader_of_templates_finds_what_is_bare(template, bare):
    assert bare_texts(template) == bare


def test_no_template_shows_text_that_cannot_be_translated():
    found = {str(path.relative_to(TEMPLATES)): bare_texts(path.read_text()) for path in TEMPLATES.rglob("*.html")}
    assert {name: texts for name, texts in found.items() if texts} == {}
