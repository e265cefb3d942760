"""Haystack: people decide before the tools of an agent run."""

from pausepoint.haystack.hooks import DeskHook

__all__ = ["DeskHook"]
