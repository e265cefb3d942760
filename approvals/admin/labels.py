"""The names of models and fields in the admin, translated when apps start: in the models, each would need a migration.

`manage.py makemessages` extracts them.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy, override


def translate_labels(app: AppConfig) -> None:
    """Make the models of an app show their names in the current language."""
    for model in app.get_models():
        options = model._meta
        plural = options.verbose_name_plural
        # Django's default plural is "{}s", which is lazy too.
        made = "verbose_name_plural" not in options.original_attrs
        options.verbose_name_plural = _in_current_language(
            str(plural) if made else plural
        )
        options.verbose_name = _in_current_language(options.verbose_name)
        for field in options.fields:
            field.verbose_name = _in_current_language(field.verbose_name)


def _in_current_language(name: Any) -> Any:
    # Lazy names are marked at their source.
    return gettext_lazy(name) if isinstance(name, str) else name


def labels_of(app: AppConfig) -> set[str]:
    """Return the untranslated names of an app's models and their fields."""
    with override(None):
        options = [model._meta for model in app.get_models()]
        models = {
            str(name)
            for meta in options
            for name in (meta.verbose_name, meta.verbose_name_plural)
        }
        return models | {
            str(field.verbose_name) for meta in options for field in meta.fields
        }
