"""Patches as files and hunks; an incomplete patch is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.text.hunks import LinePair
from approvals.text.patches import MAX_LINES, FilePatch, file_of_operation, files_of_patch

UNIFIED = """diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
index 1..2
--- a/run.sh
+++ b/run.sh
@@ -8,4 +8,5 @@ start()
 same
-one
-two
+uno
+due
+tre

\\ No newline at end of file
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
diff --git a/old.py b/new.py
rename from old.py
rename to new.py
"""


def test_a_unified_patch_keeps_its_numbers_and_all_that_it_says():
    assert files_of_patch(UNIFIED) == [
        FilePatch(
            "run.sh",
            ["old mode 100644", "new mode 100755", "index 1..2"],
            [
                (
                    "@@ -8,4 +8,5 @@ start()",
                    [
                        LinePair("same", "same", 8, 8),
                        LinePair("one", "uno", 9, 9),
                        LinePair("two", "due", 10, 10),
                        LinePair(None, "tre", None, 11),
                        LinePair("", "", 11, 12),
                        LinePair("\\ No newline at end of file", "\\ No newline at end of file"),
                    ],
                )
            ],
        ),
        FilePatch("/dev/null → b/new.txt", [], [("@@ -0,0 +1 @@", [LinePair(None, "hello", None, 1)])]),
        FilePatch("a/old.py b/new.py", ["rename from old.py", "rename to new.py"], []),
    ]


def test_names_that_contradict_each_other_are_all_shown():
    (file,) = files_of_patch("diff --git a/safe b/safe\n--- a/safe\n+++ b/evil\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.name, file.about) == ("a/safe → b/evil", ["diff --git a/safe b/safe"])


def test_the_lines_of_a_patch_for_apply_patch_are_counted_from_its_start():
    add, update = "*** Add File: a\n+one\n+", "*** Update File: b\n@@\n-x\n@@ class C\n y\n+z\n*** End of File"
    assert files_of_patch(f"*** Begin Patch\n{add}\n{update}\n*** End Patch\n") == [
        FilePatch("a", ["*** Add File"], [("", [LinePair(None, "one", None, 1), LinePair(None, "", None, 2)])]),
        FilePatch(
            "b",
            [],
            [
                ("@@", [LinePair("x", None, 1)]),
                ("@@ class C", [LinePair("y", "y", 2, 1), LinePair(None, "z", None, 2)]),
                ("*** End of File", []),
            ],
            numbered=False,
        ),
    ]


def test_an_operation_is_the_patch_of_one_file():
    assert file_of_operation("Update", "a", "@@\n-x\n+y") == [
        FilePatch("a", [], [("@@", [LinePair("x", "y", 1, 1)])], numbered=False)
    ]
    assert file_of_operation("Add", "a", "+x\n") == [
        FilePatch("a", ["*** Add File"], [("", [LinePair(None, "x", None, 1)])])
    ]
    assert file_of_operation("Delete", "a", "") == [FilePatch("a", ["*** Delete File"])]
    for action, text in [("Delete", "-x"), ("Add", "x"), ("Update", "*** Delete File: b"), ("Update", "@@x")]:
        assert file_of_operation(action, "a", text) == []


@pytest.mark.parametrize("space", [" ", "  ", "\t", "\u00a0"])
@pytest.mark.parametrize("marker", ["*** Delete File: b", "*** End Patch", "*** Move to: b", "@@ def f", "@@"])
def test_a_marker_that_looks_like_an_unchanged_line_makes_a_text_no_patch(space, marker):
    lines = ["*** Begin Patch", "*** Update File: a", "@@", " same", "-x", "+y", "*** End Patch"]
    assert files_of_patch("\n".join(lines))
    lines[3:3] = [space + marker]
    assert files_of_patch("\n".join(lines)) == []


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_lines_that_programs_end_at_different_places_make_a_text_no_patch(end):
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same{}\n-a\n+b"
    assert files_of_patch(patch.format("")) == files_of_patch(patch.format("").replace("\n", "\r\n")) != []
    assert files_of_patch(patch.format(f"{end}-rm")) == files_of_patch(patch.format(end)) == []


def test_a_long_head_makes_a_text_no_patch():
    for name, more in (("a" * 1_001, ""), ("a", "index 1..2\n" * 101)):
        assert files_of_patch(f"diff --git x y\n{more}--- {name}\n+++ {name}\n@@ -1 +1 @@\n-a\n+b") == []
        assert file_of_operation("Delete", name * 1_001, "") == []


def test_a_long_patch_is_no_patch():
    def patch(lines: int) -> str:
        return "\n".join(["*** Begin Patch", "*** Add File: a", *["+x"] * (lines - 3), "*** End Patch"])

    assert (len(files_of_patch(patch(MAX_LINES))), files_of_patch(patch(MAX_LINES + 1))) == (1, [])


def test_what_does_not_fit_is_no_patch():
    wrong = [
        "",
        "*** Begin Patch",
        "*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
        "*** Begin Patch\nx\n*** End Patch",
        "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\nstray",
        "--- a\n+++ b\n@@ -1,9 +1 @@\n-a\n+b",
        "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n+c",
        "--- a\n+++ b",
        "diff --git a b\nBinary files a and b differ",
        "--- a\n+++ b\n" + "@@ -1 +1 @@\n-a\n+b\n" * 5_000,
    ]
    assert [patch for patch in wrong if files_of_patch(patch)] == []


LINES = st.sampled_from([
    "*** Begin Patch", "*** End Patch", "*** Update File: a", "*** Add File: b", "*** Delete File: c", "*** Move to: d",
    "@@", "@@ -1 +1 @@", "@@ -1,2 +1,0 @@", "--- a/x", "+++ b/x", "diff --git a/x b/x", "index 1..2", "-a", "+b", " c", "",
    "\\ No newline at end of file", "*** End of File", "x",
])  # fmt: skip


@given(st.text(max_size=300), st.sampled_from(["*** Begin Patch\n{}\n*** End Patch", "--- a\n+++ b\n{}", "{}"]))
def test_any_text_is_a_patch_or_none(text, around):
    for file in files_of_patch(around.format(text)):
        assert all(pair.before is not None or pair.after is not None for _heading, part in file.parts for pair in part)


@given(st.lists(LINES, max_size=14))
def test_no_changed_line_of_a_patch_is_lost(lines):
    files = files_of_patch("\n".join(lines))
    pairs = [pair for file in files for _heading, part in file.parts for pair in part if pair.changed]
    if files:
        assert sum(pair.before is not None for pair in pairs) == lines.count("-a")
        assert sum(pair.after is not None for pair in pairs) == lines.count("+b")
