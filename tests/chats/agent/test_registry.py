"""The agents of an installation: loaded from dotted paths, with clear errors."""

from __future__ import annotations

import pytest
from django.core import checks

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


def test_an_empty_list_of_agents_is_valid():
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
def test_an_invalid_path_is_explained(settings, path, error, words):
    with pytest.raises(error) as refused:
        registry.load((path,))
    assert str(refused.value) == words
    settings.HITL_AGENTS = [path]
    assert [(found.id, found.msg) for found in check_agents()] == [("chats.E001", f"HITL_AGENTS: {words}")]


def test_two_agents_may_not_share_a_name(settings):
    settings.HITL_AGENTS = [f"{HERE}.first", f"{HERE}.twin"]
    words = f"{HERE}.twin: another agent is also named 'first'"
    with pytest.raises(TypeError) as refused:
        registry.load(tuple(settings.HITL_AGENTS))
    assert str(refused.value) == words
    assert [found.msg for found in check_agents()] == [f"HITL_AGENTS: {words}"]


def test_an_unknown_agent_is_named_in_the_error():
    with pytest.raises(registry.UnknownAgent) as refused:
        registry.get([f"{HERE}.first"], "second")
    assert str(refused.value) == "No agent is named 'second'."


def test_a_valid_configuration_passes_the_checks():
    assert check_agents() == []


def test_a_desk_without_a_provider_is_told_so_and_starts(settings):
    settings.HITL_PROVIDER = ""
    (found,) = check_agents()
    assert (found.id, found.is_serious(checks.INFO), found.is_serious(checks.WARNING)) == ("chats.I001", True, False)
    assert (found.msg, found.hint) == (
        "No model provider is configured. Set HITL_PROVIDER.",
        "Agents that run elsewhere need none. Set HITL_PROVIDER and a key to let a model answer in chats.",
    )


def test_a_provider_that_does_not_exist_is_an_error_with_a_hint(settings):
    settings.HITL_PROVIDER = "no-such-provider"
    (found,) = check_agents()
    assert (found.id, found.msg) == (
        "chats.E002",
        "HITL_PROVIDER: No model provider is configured. Set HITL_PROVIDER.",
    )
    assert found.hint == "HITL_PROVIDER=scripted works offline and without a key."


def test_the_checks_report_every_problem(settings):
    settings.HITL_PROVIDER, settings.HITL_AGENTS = "", ["support"]
    assert [found.id for found in check_agents()] == ["chats.E001", "chats.I001"]
