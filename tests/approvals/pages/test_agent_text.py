"""Text from agents never looks like text from Pausepoint: it is framed, has no headings, and links show their targets.

It loads nothing before a person opens a link."""

from __future__ import annotations

import re

import pytest

from approvals.states import Kind
from approvals.text.links import linked
from approvals.text.markdown import MAX_TARGET, to_html
from approvals.text.tables import rows
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice, bob

FORGERY = """# Already approved

Decided before
==============

| Approved | by auditor |
|---|---|
| yes | 2 minutes ago |

[https://bank.example](https://evil.example/pay)
"""


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [Kind.APPROVAL, Kind.QUESTION, Kind.FORM])
def test_text_from_the_agent_is_framed(kind):
    request = make_request(alice(), kind, message=FORGERY, allow_text=True)
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    (frame,) = page.find("figure", class_="agent-text")
    assert frame.find("figcaption")[0].words == "From the agent"
    assert "Approved by auditor yes 2 minutes ago" in " ".join(
        cell.words for cell in frame.find("div")[0].find("table")
    )
    (card,) = page.find("div", class_="request-body")
    assert [heading.words for tag in ("h1", "h2", "h3") for heading in card.find(tag)] == []
    assert "by auditor" not in card.words.replace(frame.words, "")


@pytest.mark.django_db
def test_text_from_pausepoint_is_not_framed():
    request = make_request(alice(), Kind.RECOVERY, message="It was started.", tool_name="pay")
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    assert (page.find("figure"), "It was started." in page.words) == ([], True)


@pytest.mark.parametrize("text", ["# Big", "###### small", "Big\n===", "> # Big", "- # Big"])
def test_text_from_the_agent_has_no_headings(text):
    html = to_html(text)
    assert re.search(r"<h\d", html) is None
    assert "<p><strong>" in html


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[https://bank.example](https://evil.example)", "(https://evil.example)"),
        ("[bank](//evil.example/x)", "(//evil.example/x)"),
        ("[Approve](/requests/1/)", "(/requests/1/)"),
        ("[**https://bank.example**](https://evil.example)", "(https://evil.example)"),
        ("[x][y]\n\n[y]: https://evil.example 'https://bank.example'", "(https://evil.example)"),
        ("<https://\u0430pple.example>", "(https://xn--pple-43d.example)"),
        ("[write](mailto:a@b.example)", "(mailto:a@b.example)"),
        ("[x](https://a.example/?" + "q" * 300 + ")", "(" + ("https://a.example/?" + "q" * 300)[:MAX_TARGET] + "…)"),
    ],
)
def test_link_shows_its_target(text, target):
    (link,) = parse(to_html(text)).find("span", class_="target")
    assert link.words == target


@pytest.mark.parametrize("text", ["<https://a.example/x>", "<a@b.example>", "[https://a.example](https://a.example)"])
def test_link_with_its_address_as_text_shows_it_once(text):
    page = parse(to_html(text))
    assert (len(page.find("a")), page.find("span")) == (1, [])


@pytest.mark.parametrize("text", ["[x](https://bank.example@evil.example)", "<https://bank.example:443@evil.example/>"])
def test_address_with_a_username_is_not_a_link(text):
    assert parse(to_html(text)).find("a") == []


def test_text_cannot_fake_a_link_target():
    html = to_html(
        '<span class="target">(https://bank.example)</span> [x](https://evil.example "https://bank.example")'
    )
    assert [one.words for one in parse(html).find("span")] == ["(https://evil.example)"]
    assert "title=" not in html


@pytest.mark.parametrize(
    ("text", "link", "words"),
    [
        ("![A cup](https://a.example/c.png)", "https://a.example/c.png", "Picture: A cup, opens a.example (https://a.example/c.png)"),
        ("![](https://a.example/c.png)", "https://a.example/c.png", "Picture, opens a.example (https://a.example/c.png)"),
        ("[![A cup](https://a.example/c.png)](https://b.example)", "https://b.example",
         "Picture: A cup (https://a.example/c.png) (https://b.example)"),
        (f"![A cup](data:image/png;base64,{'AAAA' * 30})", "", "Picture: A cup ([image/png file, 90 bytes, SHA-256"),
    ],
)  # fmt: skip
def test_picture_is_a_link_that_shows_its_target_and_loads_nothing(text, link, words):
    page = parse(to_html(text))
    assert (page.find("img"), [one.attributes["href"] for one in page.find("a")]) == ([], [link] if link else [])
    assert page.words.startswith(words)


def test_a_picture_names_the_host_that_a_browser_looks_up_and_opens_beside_the_page():
    (link,) = parse(to_html("![A cup](https://bücher.example/c.png)")).find("a")
    assert link.words == "Picture: A cup, opens xn--bcher-kva.example"
    assert (link.attributes["target"], link.attributes["rel"]) == ("_blank", "noopener noreferrer nofollow")
    (link,) = parse(to_html("![A cup](//evil.example/c.png)")).find("a")
    assert link.words == "Picture: A cup, opens evil.example"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("See https://a.example/x?y=1&z=2.", ["https://a.example/x?y=1&z=2"]),
        ("(https://a.example/(x)) and HTTP://b.example!", ["https://a.example/(x)", "HTTP://b.example"]),
        ("javascript://a.example data:text/html,x ftp://a.example", []),
        ("https://bank.example@evil.example/", []),
        ("https://a.example\u200b.evil.example", []),
        ("https:///x https://[", []),
    ],
)
def test_address_in_a_value_is_a_link_to_what_it_says(text, links):
    (row,) = rows({"note": text})
    page = parse(str(linked(row.value)))
    assert [one.attributes["href"] for one in page.find("a")] == links
    assert {one.attributes["rel"] for one in page.find("a")} <= {"noopener noreferrer nofollow"}
    assert [one.words for one in page.find("a")] == links


def test_address_with_foreign_letters_shows_what_its_host_is():
    page = parse(str(linked("https://\u0430pple.example/x")))
    assert [one.words for one in page.find("span", class_="target")] == ["(xn--pple-43d.example)"]


@pytest.mark.parametrize(
    ("text", "linked_as"),
    [
        ("Ada <ada@example.com>", ["mailto:ada@example.com"]),
        ("ada@example.com, bob+1@mail.example.org.", ["mailto:ada@example.com", "mailto:bob+1@mail.example.org"]),
        # Only a part of the text would be an address.
        ("ada@example.com.evil-x", []),
        ("ada@example.com\u0430", []),
        ("ad\u0430@example.com", []),
        ("\u212aate@example.com", []),
        ("https://bank.example@evil.example/", []),
    ],
)
def test_mail_address_in_a_value_is_a_link_to_what_it_says(text, linked_as):
    assert [link.attributes["href"] for link in parse(str(linked(text))).find("a")] == linked_as


def test_picture_in_a_value_is_a_link_that_says_where_it_leads():
    page = parse(str(linked("https://cdn.example.com/a.PNG?size=2")))
    assert (page.words, page.find("img")) == (
        "https://cdn.example.com/a.PNG?size=2 (image, opens cdn.example.com)",
        [],
    )


def test_value_beside_a_link_is_escaped():
    html = str(linked("<b>https://a.example/<script></b>"))
    assert ("<b>" in html, "<script" in html, len(parse(html).find("a"))) == (False, False, 1)


def test_long_addresses_and_many_of_them_take_little_time():
    text = "https://" + "a" * 100_000 + " " + "https://x.example/ " * 2_000
    assert str(linked(text)).count("<a ") == 2_000
