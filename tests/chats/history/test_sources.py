"""Citations and results of a provider's own tools, as parts of a message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats.checkpoints import digest_of
from chats.queries.projection import NO_TEXT, StepView, message_parts
from chats.queries.sources import safe_url, source_parts

USE = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "pandas"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [
        {"type": "web_search_result", "url": "https://a.example/1", "title": "One", "encrypted_content": "secret"},
        {"type": "web_search_result", "url": "javascript:alert(1)", "title": "Two", "encrypted_content": "secret"},
    ],
}


def cited(words, *citations):
    return {"type": "text", "text": words, "citations": list(citations)}


def from_web(url, title=None):
    return {"type": "web_search_result_location", "url": url, "title": title, "cited_text": "…", "encrypted_index": "x"}


def tool_part(content, kind="code_execution_tool_result"):
    (part,) = source_parts([{"type": kind, "tool_use_id": "s9", "content": content}])
    return part["data"]


def test_a_search_shows_its_pages_and_the_text_stays_one_with_each_source_once():
    blocks = [
        USE,
        FOUND,
        {"type": "text", "text": "Pandas "},
        cited("eat bamboo", from_web("https://a.example/1", "One")),
        {"type": "text", "text": " and "},
        cited("sleep", from_web("https://a.example/1", "One"), from_web("https://b.example/")),
        {"type": "text", "text": "."},
    ]
    assert message_parts([StepView(blocks)]) == [
        {"type": "step-start"},
        {"type": "text", "text": "Pandas eat bamboo and sleep.", "state": "done"},
        {
            "type": "data-server-tool",
            "data": {
                "name": "web_search",
                "input": {"query": "pandas"},
                "results": [{"url": "https://a.example/1", "title": "One"}],
            },
        },
        {"type": "source-url", "sourceId": "https://a.example/1", "url": "https://a.example/1", "title": "One"},
        {
            "type": "source-url",
            "sourceId": "https://b.example/",
            "url": "https://b.example/",
            "title": "https://b.example/",
        },
    ]


def test_a_document_is_a_source_without_an_address():
    page = {"type": "page_location", "document_title": "Terms", "document_index": 0, "cited_text": "…"}
    assert source_parts([cited("x", page)]) == [
        {"type": "source-document", "sourceId": "document:Terms", "mediaType": "application/pdf", "title": "Terms"}
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            {"type": "code_execution_result", "stdout": "4\n", "stderr": "", "return_code": 0, "content": []},
            {"stdout": "4\n", "returnCode": 0},
        ),
        ({"type": "code_execution_tool_result_error", "error_code": "unavailable"}, {"error": "unavailable"}),
        (
            {"type": "web_fetch_result", "url": "https://c.example/", "content": {"title": "See"}},
            {"results": [{"url": "https://c.example/", "title": "See"}]},
        ),
        ({"type": "encrypted_code_execution_result", "encrypted_stdout": "x", "return_code": 1}, {"returnCode": 1}),
        ("nonsense", {}),
        ([1, None, {"url": 5}], {"results": []}),
    ],
)
def test_each_result_of_a_providers_tool_is_shown(content, expected):
    assert tool_part(content) == {"name": "code_execution", "input": {}} | expected


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://a.example/x?y=1", True),
        ("http://a.example", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//a.example", False),
        ("https://", False),
        ("https://[", False),
        ("https://a.example/" + "x" * 2000, False),
        (None, False),
    ],
)
def test_only_addresses_of_web_pages_become_links(url, safe):
    assert safe_url(url) == (url if safe else "")


def test_sources_are_not_the_last_words_of_a_turn():
    parts = message_parts([StepView([USE, FOUND])], closing=NO_TEXT)
    assert [part["type"] for part in parts] == ["step-start", "data-server-tool", "text"]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["url", "title", "error_code", "stdout", "content", "type"]), inner, max_size=4
        ),
    ),
    max_leaves=8,
)


@given(JSON, JSON)
def test_nothing_that_a_provider_sends_breaks_the_page(content, citations):
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": content, "input": citations},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": content},
        {"type": "text", "text": "x", "citations": citations},
    ]
    parts = message_parts([StepView(blocks)])
    assert parts[1] == {"type": "text", "text": "x", "state": "done"}
    assert digest_of(parts, salt="5a17").startswith("sha256:")


def test_the_input_of_a_providers_tool_is_shown_if_it_can_be_stored():
    deep: Any = "found"
    for _ in range(2000):
        deep = [deep]
    for value, shown in (
        ({"query": "pandas"}, {"query": "pandas"}),
        ({"id": 2**60}, {}),
        (deep, {}),
        (float("nan"), {}),
    ):
        (part,) = source_parts([USE | {"input": value}, FOUND])
        assert part["data"]["input"] == shown
    assert "returnCode" not in tool_part({"stdout": "x", "return_code": 2**60})
