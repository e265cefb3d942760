"""The agents of an installation: named by dotted paths, loaded once, and missed in clear words."""

from __future__ import annotations

import pytest

from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.demo import support
from chats.checks import check_agents

first, second = Agent(name="first"), Agent(name="second")
twin = Agent(name="first", title="The other first")
HERE = __name__


def test_agents_are_found_by_name_in_the_order_of_the_setting():
    paths = (f"{HERE}.second", "chats.agent.demo.support", f"{HERE}.first")
    assert list(registry.load(paths).items()) == [("second", second), ("support", support), ("first", first)]
    assert registry.get(list(paths), "first") is first


def test_no_agents_at_all_are_no_error():
    assert registry.load(()) == {}


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("support", ImportError, "'support' is not a dotted path such as shop.agents.support"),
        ("", ImportError, "'' is not a dotted path such as shop.agents.support"),
        ("shop.agents.support", ImportError, "No module named 'shop'"),
        (f"{HERE}.nobody", TypeError, f"{HERE}.nobody is not an Agent"),
        (f"{HERE}.HERE", TypeError, f"{HERE}.HERE is not an Agent"),
        ("chats.agent.agent.Agent", TypeError, "chats.agent.agent.Agent is not an Agent"),
    ],
)
def test_a_bad_path_is_refused_in_words(settings, path, error, words):
    with pytest.raises(error) as refused:
        registry.load((path,))
    assert str(refused.value) == words
    settings.HITL_AGENTS = [path]
    assert [(found.id, found.msg) for found in check_agents()] == [("chats.E001", f"HITL_AGENTS: {words}")]


def test_two_agents_may_not_share_a_name(settings):
    settings.HITL_AGENTS = [f"{HERE}.first", f"{HERE}.twin"]
    words = f"{HERE}.twin: another agent is named 'first' too"
    with pytest.raises(TypeError) as refused:
        registry.load(tuple(settings.HITL_AGENTS))
    assert str(refused.value) == words
    assert [found.msg for found in check_agents()] == [f"HITL_AGENTS: {words}"]


def test_an_unknown_agent_is_named():
    with pytest.raises(registry.UnknownAgent) as refused:
        registry.get([f"{HERE}.first"], "second")
    assert str(refused.value) == "No agent is named 'second'."


def test_a_set_up_that_works_passes_the_checks():
    assert check_agents() == []


@pytest.mark.parametrize("provider", ["", "no-such-provider"])
def test_a_provider_that_is_not_there_is_an_error_with_a_hint(settings, provider):
    settings.HITL_PROVIDER = provider
    (found,) = check_agents()
    assert (found.id, found.msg) == (
        "chats.E002",
        "HITL_PROVIDER: No model provider is configured. Set HITL_PROVIDER.",
    )
    assert found.hint == "HITL_PROVIDER=scripted works offline and without a key."


def test_a_broken_set_up_names_everything_that_is_wrong(settings):
    settings.HITL_PROVIDER, settings.HITL_AGENTS = "", ["support"]
    assert [found.id for found in check_agents()] == ["chats.E001", "chats.E002"]
