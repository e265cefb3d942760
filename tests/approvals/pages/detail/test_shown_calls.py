"""The effect of a coding agent's call is shown first: its command, the lines of its edit, its address."""

from __future__ import annotations

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from approvals.asking.secrets import shown_content
from approvals.forms.shown_calls import shown_input
from approvals.forms.shown_edits import FOLDED, SHOWN
from approvals.forms.unseen_parts import unseen_parts
from approvals.models import ApprovalRequest
from approvals.states import Kind, Verdict
from approvals.text.hunks import LinePair
from approvals.text.tables import HeldPart
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice, bob


def shown(tool: str, context: object = None, kind: str = Kind.APPROVAL, **given: object):
    return shown_input(shown_content(ApprovalRequest(kind=kind, tool_name=tool, input=given, context=context)))


def pairs(diff) -> list[LinePair]:
    return [pair for hunk in (*diff.shown, *diff.more) for pair in hunk.pairs]


def lines(diff) -> list[tuple[str | None, str | None]]:
    return [(pair.before, pair.after) for pair in pairs(diff)]


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
        # Cline's list is shown by row: as lines, a command with a line break would look like two.
        ("run_commands", {"commands": ["make test", "ls\nrm -r build"]}),
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
    assert [lines(diff) for diff in found.diffs] == [[("a", "a"), ("b", "B"), ("c", "c")]]
    several = shown(
        "MultiEdit",
        file_path="a.py",
        edits=[{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "", "replace_all": False}],
    )
    assert [lines(diff) for diff in several.diffs] == [[("a", "b")], [("c", "")]]


def test_a_whole_file_is_shown_by_line():
    written = shown("Write", file_path="a.txt", content="one\ntwo\n")
    assert (written.whole, [lines(diff) for diff in written.diffs]) == (
        True,
        [[(None, "one"), (None, "two"), (None, "")]],
    )


def test_a_patch_is_shown_by_file_and_hunk():
    update = "*** Update File: a.py\n*** Move to: b.py\n@@ def f\n-old\n+new\n same"
    patch = f"*** Begin Patch\n{update}\n*** Delete File: c\n*** End Patch"
    update, delete = shown("apply_patch", command=patch).diffs
    assert (update.name, update.about, update.shown[0].heading) == ("a.py", ["*** Move to: b.py"], "@@ def f")
    assert (lines(update), update.compares) == ([("old", "new"), ("same", "same")], True)
    assert (delete.name, delete.about, delete.shown) == ("c", ["*** Delete File"], [])
    assert [(diff.added, diff.removed, diff.numbered) for diff in (update, delete)] == [(1, 1, False), (0, 0, True)]


def test_operations_of_openais_tool_are_shown_as_the_files_that_they_change():
    update = {"type": "update_file", "path": "a.py", "diff": "@@ def f\n-old\n+new"}
    found = shown("apply_patch", **update)
    assert [(diff.name, diff.about, lines(diff)) for diff in found.diffs] == [("a.py", [], [("old", "new")])]
    several = shown("apply_patch", operations=[update, {"type": "delete_file", "path": "b", "diff": None}])
    assert [(diff.name, diff.about) for diff in several.diffs] == [("a.py", []), ("b", ["*** Delete File"])]
    assert (found.changed_files, several.changed_files, several.rows) == (1, 2, [])
    assert [row.name for row in shown("apply_patch", **update, operations="x", mode="777").rows] == [
        "operations",
        "mode",
    ]
    for wrong in ({"type": ["x"]}, {"path": ""}, {"diff": 1}, {"diff": "*** Add File: b\n+x"}, {"mode": "777"}):
        assert shown("apply_patch", operations=[update | wrong]).kind == ""


def test_the_unchanged_lines_of_a_patch_without_numbers_are_never_folded():
    same = "\n".join(f" {number}" for number in range(30))
    own = f"*** Begin Patch\n*** Update File: a\n@@\n{same}\n-x\n+y\n*** End Patch"
    assert [hunk.folded for hunk in shown("apply_patch", input=own).diffs[0].shown] == [False]
    unified = f"--- a\n+++ b\n@@ -1,31 +1,31 @@\n{same}\n-x\n+y"
    assert [hunk.folded for hunk in shown("apply_patch", input=unified).diffs[0].shown] == [True, False]


def test_files_of_a_patch_that_are_only_in_the_raw_json_are_files_too():
    patch = "\n".join(["*** Begin Patch", *(f"*** Delete File: {number}" for number in range(30)), "*** End Patch"])
    found = shown("apply_patch", input=patch)
    assert (len(found.diffs), found.left_out, found.changed_files) == (20, 10, 30)
    assert [(part.place, part.values) for part in found.unseen({"input.call"})][-1] == ("raw", 10)


@pytest.mark.django_db
def test_the_bar_counts_the_files_of_a_patch_and_those_not_seen_are_asked_for():
    patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b"
    request = make_request(alice(), tool_name="apply_patch", input={"input": patch})
    client = browser(bob())
    page = parse(client.get(request.get_absolute_url()).text)
    (count,) = page.find("span", class_="files-viewed")
    assert (count.attributes["data-files"], len(page.find("div", class_="edit-file"))) == ("2", 2)
    sent = {"verdict": "approve", "digest": request.input_digest}
    decide = f"/requests/{request.pk}/decide/"
    assert client.post(decide, sent | {"viewed": "input.call input.patch.0"}).status_code == 422
    assert client.post(decide, sent | {"viewed": "input.call input.patch.0 input.patch.1"}).status_code == 302


def test_a_malformed_patch_is_shown_as_its_text():
    for patch in (
        "*** Begin Patch\n*** Update File: a.py\nold\n*** End Patch",
        "*** Begin Patch\n+x",
        "--- a\n+++ b\n@@ -1,2 +1 @@\n-a",
    ):
        found = shown("apply_patch", command=patch)
        note = "shown as text: too long, or not a well-formed patch"
        assert (found.kind, [(row.name, row.value, row.note) for row in found.rows]) == ("", [("command", patch, note)])


def test_unchanged_lines_around_a_change_are_folded_and_need_not_be_opened():
    before = "\n".join(map(str, range(100)))
    found = shown("Edit", file_path="a", old_string=before, new_string=before.replace("\n90\n", "\nninety\n"))
    (diff,) = found.diffs
    assert [(hunk.folded, len(hunk.pairs)) for hunk in diff.shown] == [(True, 87), (False, 7), (True, 6)]
    assert (diff.shown[1].pairs[0], diff.numbered, found.numbered) == (LinePair("87", "87", 88, 88), False, False)
    assert list(found.unseen(found.open_places())) == []


def test_a_character_and_the_words_that_stand_for_it_do_not_look_alike():
    (diff,) = shown("Edit", file_path="a", old_string="x\u200b", new_string="x⟨U+200B⟩").diffs
    assert lines(diff) == [('"x\\u200b"', '"x\\u27e8U+200B\\u27e9"')]


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
    counts = [sum(len(hunk.pairs) for hunk in hunks) for hunks in (diff.shown, diff.more)]
    assert (counts, diff.hidden) == ([SHOWN[0], FOLDED[0]], 1_500 - SHOWN[0] - FOLDED[0])
    request = ApprovalRequest(kind=Kind.APPROVAL, tool_name="Write", input={"file_path": "a", "content": text})
    folded, hidden = unseen_parts(request, Verdict.APPROVE, QueryDict())
    assert (folded.place, hidden.place, folded.characters + hidden.characters > 13_000) == (
        "input.edit.0+",
        "raw",
        True,
    )
    (wide,) = shown("Write", file_path="a", content="x" * 100_000).diffs
    assert (len(wide.shown), len(wide.more), wide.hidden) == (0, 0, 1)
    many = shown("MultiEdit", file_path="a", edits=[{"old_string": "a", "new_string": "b"}] * 30)
    assert (len(many.diffs), many.left_out, list(many.unseen(many.open_places()))) == (
        20,
        10,
        [HeldPart("raw", values=10)],
    )


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_lines_of_an_edit_are_those_of_both_texts(before, after):
    (diff,) = shown("Edit", file_path="a", old_string=before, new_string=after).diffs
    one = [pair for pair in pairs(diff) if pair.before is not None]
    two = [pair for pair in pairs(diff) if pair.after is not None]
    assert (len(one), len(two)) == (before.count("\n") + 1, after.count("\n") + 1)


def test_two_large_texts_are_compared_within_bounds():
    before, after = ("\n".join(f"{name}{number}" for number in range(9_000)) for name in "ab")
    (diff,) = shown("Edit", file_path="a", old_string=before, new_string=after).diffs
    assert (len(diff.shown[0].pairs), diff.hidden) == (SHOWN[0], 9_000 - SHOWN[0] - FOLDED[0])


HOSTILE = "</pre><script>alert(1)</script>\u202e"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "given",
    [
        ("Bash", {"command": f"echo {HOSTILE}"}),
        ("Edit", {"file_path": HOSTILE, "old_string": HOSTILE, "new_string": f"{HOSTILE}x"}),
        ("WebFetch", {"url": f"https://example.org/{HOSTILE}"}),
        ("apply_patch", {"input": f"*** Begin Patch\n*** Add File: {HOSTILE}\n+{HOSTILE}\n*** End Patch"}),
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
    assert (fold.attributes["data-fold"], len(page.find("span", class_="line-added"))) == ("input.edit.0", 200)
    sent = {"verdict": "approve", "digest": request.input_digest}
    decide = f"/requests/{request.pk}/decide/"
    assert client.post(decide, sent).status_code == 422
    assert client.post(decide, sent | {"viewed": "input.call input.edit.0 input.edit.0+"}).status_code == 302


def test_lines_that_read_alike_because_their_secrets_are_hidden_count_as_changed():
    key = "ghp_" + "a" * 32
    (diff,) = shown("Edit", file_path="a", old_string=f"x\n{key}0000", new_string=f"x\n{'ghp_' + 'b' * 32}0000").diffs
    assert [(pair.before == pair.after, pair.changed) for pair in pairs(diff)] == [(True, False), (True, True)]
    patch = f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n x\n-{key}0000\n+{'ghp_' + 'b' * 32}0000"
    (diff,) = shown("apply_patch", input=patch).diffs
    assert [(pair.before == pair.after, pair.changed) for pair in pairs(diff)] == [(True, False), (True, True)]
