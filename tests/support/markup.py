"""Parse HTML as a browser does: elements, forms with the data they send, and inline code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

BLOCKS = {"button", "caption", "dd", "div", "dt", "h1", "h2", "h3", "h4", "h5", "li", "p", "small", "td", "th", "tr"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass(slots=True)
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def find(self, tag: str = "", **wanted: str) -> list[Element]:
        """The elements inside, at any depth, of this tag and with these attributes (`class_` for one of the classes)."""
        name = wanted.pop("class_", "")
        return [
            element
            for element in self.all()
            if tag in {"", element.tag}
            and (not name or name in element.attributes.get("class", "").split())
            and all(element.attributes.get(key.replace("_", "-")) == value for key, value in wanted.items())
        ]

    def all(self) -> list[Element]:
        return [found for element in self.inside for found in (element, *element.all())]

    @property
    def words(self) -> str:
        """All text in it, without needless white space."""
        return " ".join(self.text.split())


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS:
            self.handle_data(" ")
        element = Element(tag, {name: value or "" for name, value in attributes})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self.open):
            while self.open.pop().tag != tag:
                pass
        if tag in BLOCKS:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def parse(html: str) -> Element:
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root


@dataclass(frozen=True, slots=True)
class Form:
    """A form: where it goes, the fields that it sends anyway, and its buttons as (words, name, value)."""

    action: str
    fields: dict[str, str]
    buttons: list[tuple[str, str, str]]


def forms(html: str, action: str = "") -> list[Form]:
    """The page's forms whose address ends with `action`."""
    found = []
    for element in parse(html).find("form"):
        inputs = [one for one in element.find("input") if one.attributes.get("type") not in {"checkbox", "radio"}]
        fields = {one.attributes["name"]: one.attributes.get("value", "") for one in inputs}
        # A browser drops one line break at the beginning of a text area.
        fields |= {one.attributes["name"]: one.text.removeprefix("\n") for one in element.find("textarea")}
        buttons = [
            (one.words, one.attributes.get("name", ""), one.attributes.get("value", ""))
            for one in element.find("button")
        ]
        found.append(Form(element.attributes.get("action", ""), fields, buttons))
    return [form for form in found if form.action.endswith(action)]


def buttons(html: str) -> list[str]:
    """The labels of the buttons in the page's content, in order; without those for presence, chat and keys."""
    page = parse(html)
    others = [*aside(page), *_buttons_in(page, "keys-hint", "keys")]
    found = [one for area in page.find("main") or [page] for one in area.find("button")]
    return [one.words for one in found if one not in others and one.attributes.get("role") != "tab"]


def aside(page: Element) -> list[Element]:
    """The buttons that end no request: take it, hand it over, comment."""
    return _buttons_in(page, "assignee", "notes")


def _buttons_in(page: Element, *classes: str) -> list[Element]:
    return [one for name in classes for part in page.find(class_=name) for one in part.find("button")]


def inline_code(html: str) -> list[str]:
    """Everything that a policy without 'unsafe-inline' would refuse, and everything from other origins."""
    found = []
    for element in parse(html).all():
        if element.tag == "style" or (element.tag == "script" and not element.attributes.get("src")):
            found.append(f"<{element.tag}>")
        for name, value in element.attributes.items():
            target = name in {"href", "src", "action", "formaction"} and re.match(r"\s*(?:javascript|data):|//", value)
            foreign = name == "src" and re.match(r"\w+:", value)
            if name == "style" or name.startswith(("on", "hx-on")) or target or foreign:
                found.append(f"<{element.tag} {name}={value!r}>")
    return found


def without_tokens(html: str) -> str:
    """The page without its CSRF tokens and the time of the server, which differ every time."""
    return re.sub(r'[A-Za-z0-9]{64}|(?<=data-now=")[^"]+', "TOKEN", html)
