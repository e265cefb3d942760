"""The admin shows the names of models and fields in the language of the installation."""

from __future__ import annotations

from django.apps import apps
from django.utils.translation import override

from approvals.admin.labels import LABELS


def test_every_name_of_a_model_or_field_is_marked_for_translation():
    models = [model for app in ("approvals", "chats") for model in apps.get_app_config(app).get_models()]
    with override("en"):
        names = {str(name) for model in models for name in (model._meta.verbose_name, model._meta.verbose_name_plural)}
        names |= {str(field.verbose_name) for model in models for field in model._meta.fields}
    # Names from Django, and names that models mark themselves.
    others = {"ID", "address", "Slack address", "from priority", "tool", "keyboard shortcuts", "priority at least"}
    others |= {
        "a rejection needs a message",
        "hold my decisions for (seconds)",
        "open the next request after a decision",
    }
    others |= {"show the request beside the list"}
    assert names - LABELS - others == set()
