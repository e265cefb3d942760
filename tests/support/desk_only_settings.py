"""The settings of a desk without chats (tests/proofs/site/test_desk_alone.py)."""

from hitlsite.settings import *  # noqa: F403
from hitlsite.settings import INSTALLED_APPS as ALL_APPS

INSTALLED_APPS = [app for app in ALL_APPS if app != "chats"]
