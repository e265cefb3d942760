"""What a call of a coding agent does is shown before anything else: its command, the lines of its edit, its address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.forms.safeguards import folded_parts
from approvals.forms.shown_calls import FOLDED, SHOWN, shown_input
from approvals.models import ApprovalRequest
from approvals.states import Kind
from approvals.text.tables import Part
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice, bob


def shown(tool: str, context: object = None, kind: str = Kind.APPROVAL, **given: object):
    return shown_input(ApprovalRequest(kind=kind, tool_name=tool, input=given, context=context))


def lines(diff) -> list[str]:
    return [line.sign + line.text for line in [*diff.shown, *diff.more]]


@pytest.mark.parametrize(
    ("tool", "member"),
    [
        ("Bash", "command"),
        ("bash", "command"),
        ("exec_command", "cmd"),
        ("mcp__shell__run_command", "command"),
        ("functions.shell", "command"),
    ],
)
def test_a_command_is_recognized_by_the_tool_and_the_shape_of_its_input(tool, member):
    found = shown(tool, {"directory": "/srv/app", "ticket": 7}, **{member: "make test", "description": "Test"})
    assert (found.kind, found.directory, found.value.value) == ("command", "/srv/app", "make test")
    assert ([row.name for row in found.rows], [row.name for row in found.context]) == (["description"], ["ticket"])


@pytest.mark.parametrize(
    "given",
    [
        ("refund", {"command": "make test"}),
        ("Bash", {"command": ["bash", "-lc", "make"]}),
        ("Bash", {"command": ""}),
        ("Edit", {"file_path": "a.py"}),
        ("Edit", {"file_path": "a" * 1_001, "old_string": "a", "new_string": "b"}),
        ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b", "replace_all": True}]}),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "cell_id": "1", "new_source": "x", "edit_mode": "delete"}),
        ("WebFetch", {"url": 7}),
        ("WebFetch", {"url": "https://example.org/" + "a" * 1_000}),
        ("Bash", {str(number): 1 for number in range(600)} | {"command": "ls"}),
    ],
)
def test_anything_else_is_shown_in_a_table(given):
    tool, members = given
    found = shown(tool, **members)
    assert (found.kind, [row.name for row in found.rows][:1]) == ("", list(members)[:1])


def test_a_question_shows_no_call():
    assert shown("Bash", kind=Kind.QUESTION, command="ls").kind == ""


def test_an_edit_is_shown_as_the_lines_that_it_removes_and_adds():
    found = shown(
        "Edit", {"directory": "/srv"}, file_path="a.py", old_string="a\nb\nc", new_string="a\nB\nc", replace_all=True
    )
    assert (found.file, found.directory, [row.name for row in found.rows]) == ("a.py", "/srv", ["replace_all"])
    assert [lines(diff) for diff in found.diffs] == [[" a", "-b", "+B", " c"]]
    several = shown(
        "MultiEdit",
        file_path="a.py",
        edits=[{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "", "replace_all": False}],
    )
    assert [lines(diff) for diff in several.diffs] == [["-a", "+b"], ["-c", "+"]]


def test_a_whole_file_and_a_patch_are_shown_by_line():
    written = shown("Write", file_path="a.txt", content="one\ntwo\n")
    assert (written.whole, [lines(diff) for diff in written.diffs]) == (True, [["+one", "+two", "+"]])
    patch = "*** Begin Patch\n*** Update File: a.py\n@@ def f\n-old\n+new\n same\n*** End Patch"
    patched = shown("apply_patch", command=patch)
    assert [(line.kind, line.sign, line.text) for line in patched.diffs[0].shown] == [
        ("heading", "", "*** Begin Patch"),
        ("heading", "", "*** Update File: a.py"),
        ("heading", "", "@@ def f"),
        ("removed", "-", "old"),
        ("added", "+", "new"),
        ("same", " ", "same"),
        ("heading", "", "*** End Patch"),
    ]


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://example.org/a?b=c", "example.org"),
        ("https://github.com@evil.example/login", "evil.example"),
        ("http://localhost:8000", "localhost:8000"),
        ("https://example.org?@evil.example", "example.org"),
        ("https://evil.example\\@github.com/", ""),
        ("javascript:alert(1)", ""),
        ("evil.example?x=http://example.org", ""),
        ("evil.example://example.org", ""),
        ("HTTPS://example.org", "example.org"),
    ],
)
def test_the_host_of_an_address_stands_out_and_nothing_of_it_is_left_out(address, host):
    found = shown("WebFetch", url=address, prompt="Summarize")
    assert (found.kind, found.parts[1], "".join(found.parts)) == ("fetch", host, address)


def test_long_edits_are_folded_and_very_long_ones_are_counted():
    text = "\n".join(f"line {number}" for number in range(1_500))
    (diff,) = shown("Write", file_path="a", content=text).diffs
    assert (len(diff.shown), len(diff.more), diff.hidden) == (SHOWN[0], FOLDED[0], 1_500 - SHOWN[0] - FOLDED[0])
    request = ApprovalRequest(kind=Kind.APPROVAL, tool_name="Write", input={"file_path": "a", "content": text})
    folded, hidden = folded_parts(request)
    assert (folded.place, hidden.place, folded.characters + hidden.characters > 13_000) == (
        "input.edit.0+",
        "raw",
        True,
    )
    (wide,) = shown("Write", file_path="a", content="x" * 100_000).diffs
    assert (len(wide.shown), len(wide.more), wide.hidden) == (0, 0, 1)
    many = shown("MultiEdit", file_path="a", edits=[{"old_string": "a", "new_string": "b"}] * 30)
    assert (len(many.diffs), many.left_out, list(many.unseen(many.open_places()))) == (20, 10, [Part("raw", values=10)])


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_lines_of_an_edit_are_those_of_both_texts(before, after):
    (diff,) = shown("Edit", file_path="a", old_string=before, new_string=after).diffs
    found = [*diff.shown, *diff.more]
    one = [line.text for line in found if line.kind in {"same", "removed"}]
    two = [line.text for line in found if line.kind in {"same", "added"}]
    assert (len(one), len(two)) == (before.count("\n") + 1, after.count("\n") + 1)


def test_two_large_texts_are_compared_within_bounds():
    before, after = ("\n".join(f"{name}{number}" for number in range(9_000)) for name in "ab")
    (diff,) = shown("Edit", file_path="a", old_string=before, new_string=after).diffs
    assert (len(diff.shown), diff.hidden) == (SHOWN[0], 18_000 - SHOWN[0] - FOLDED[0])


HOSTILE = "</pre><script>alert(1)</script>\u202e"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "given",
    [
        ("Bash", {"command": f"echo {HOSTILE}"}),
        ("Edit", {"file_path": HOSTILE, "old_string": HOSTILE, "new_string": f"{HOSTILE}x"}),
        ("WebFetch", {"url": f"https://example.org/{HOSTILE}"}),
        ("apply_patch", {"input": f"*** Begin Patch\n+{HOSTILE}"}),
    ],
)
def test_nothing_of_a_call_is_markup_and_invisible_characters_are_visible(given):
    tool, members = given
    request = make_request(alice(), tool_name=tool, input=members, context={"directory": f"/srv/{HOSTILE}"})
    page = browser(bob()).get(request.get_absolute_url())
    (call,) = parse(page.text).find("figure", class_="call")
    assert ("<script>alert" in page.text, "\u202e" in call.words, "⟨U+202E⟩" in call.words) == (False, False, True)


@pytest.mark.django_db
def test_a_page_shows_a_folded_edit_and_asks_for_it_to_be_opened():
    text = "\n".join(f"line {number}" for number in range(100))
    request = make_request(alice(), tool_name="Write", input={"file_path": "a.txt", "content": text})
    client = browser(bob())
    page = parse(client.get(request.get_absolute_url()).text)
    (fold,) = [one for one in page.find("details", class_="fold") if "data-fold" in one.attributes]
    assert (fold.attributes["data-fold"], len(page.find("ins", class_="line-added"))) == ("input.edit.0", 100)
    sent = {"verdict": "approve", "digest": request.input_digest}
    decide = f"/requests/{request.pk}/decide/"
    assert client.post(decide, sent).status_code == 422
    assert client.post(decide, sent | {"viewed": "input.call input.edit.0 input.edit.0+"}).status_code == 302
