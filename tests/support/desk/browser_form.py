"""The data that a browser sends for a form in HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlencode

from django.http import QueryDict


class _Fields(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, str]] = []
        self.textarea: str | None = None
        self.select: str | None = None
        self.options: list[tuple[str, bool]] = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        name = values.get("name")
        if tag == "textarea":
            self.textarea, self.text = name, ""
        elif tag == "select":
            self.select, self.options = name, []
        elif tag == "option" and self.select:
            self.options.append((values.get("value") or "", "selected" in values))
        elif tag == "input" and name:
            value = values.get("value") or ""
            if values["type"] not in {"checkbox", "radio"}:
                # A browser removes line breaks from the value of a text field.
                self.sent.append(
                    (name, value if values["type"] == "hidden" else value.replace("\n", "").replace("\r", ""))
                )
            elif "checked" in values:
                self.sent.append((name, values.get("value", "on")))

    def handle_data(self, data):
        self.text += data

    def handle_endtag(self, tag):
        if tag == "textarea" and self.textarea:
            plain = self.text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
            self.sent.append((self.textarea, plain.replace("\n", "\r\n")))
            self.textarea = None
        elif tag == "select" and self.select:
            chosen = [value for value, selected in self.options if selected] or [self.options[0][0]]
            self.sent.append((self.select, chosen[0]))
            self.select = None


def sent_by_browser(html: str) -> QueryDict:
    """Return what the browser sends for the untouched fields in a page."""
    fields = _Fields()
    fields.feed(html)
    fields.close()
    return QueryDict(urlencode(fields.sent))
