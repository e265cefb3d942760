"""Titles in the messages of Slack, Mattermost and their kind are text, also where Markdown is read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.outbound.messages import plain

TITLES = {
    "a link that closes the one around it": (
        "Refund](https://pay.example/) [4711",
        "Refund\uff3d(https:\u200b//pay.\u200bexample/) \uff3b4711",
    ),
    "emphasis and code": (
        "**Pay** _now_ ~~no~~ `rm`",
        "\u2217\u2217Pay\u2217\u2217 \uff3fnow\uff3f \u223c\u223cno\u223c\u223c \u02cbrm\u02cb",
    ),
    "an end that escapes": ("ends with \\", "ends with \uff3c"),
    "a picture": ("![x](y)", "!\uff3bx\uff3d(y)"),
    "addresses": ("https://pay.example WWW.pay.example", "https:\u200b//pay.example WWW\u200b.pay.example"),
    "addresses without a scheme": ("x.com/pay 1.5/2.5 a.b", "x.\u200bcom/pay 1.5/2.5 a.b"),
    "emoticons": ("<3 days ;-) x-D </3", "&lt;\u200b3 days ;\u200b-) x\u200b-D &lt;\u200b/3"),
    "mentions": ("@all <!channel> bob@pay.example", "@\u200ball &lt;!channel&gt; bob@\u200bpay.example"),
    "emoji and topics": (":moneybag: #shop $5$", ":\u200bmoneybag: #\u200bshop $\u200b5$\u200b"),
    "a table": ("| a | b |", "¦ a ¦ b ¦"),
    "names stay as they are": ("Run create_label (14 EUR, 50 %)?", "Run create_label (14 EUR, 50 %)?"),
    "underscores outside of a name": ("__init__ run_ _x", "\uff3f\uff3finit\uff3f\uff3f run\uff3f \uff3fx"),
}


@pytest.mark.parametrize("case", TITLES)
def test_what_has_a_meaning_there_is_replaced_by_what_looks_alike(case):
    title, expected = TITLES[case]
    assert plain(title) == expected


@given(st.text(st.sampled_from("ab_ *`~[]()<>|\\!#:$@/.w&;"), max_size=40))
def test_no_title_has_a_meaning(title):
    shown = plain(title)
    assert re.search(r"[\[\]|`*~<>\\]|\]\(|://|@\w|#\w|:\w|www\.|\.[a-z]+/|;-?\)|\b_\W|\W_", shown) is None
    assert len(shown) >= len(title)
