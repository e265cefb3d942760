"""The admin shows the names of models and fields in the language of the installation."""

from __future__ import annotations

from django.apps import apps
from django.utils.translation import override

from approvals.admin.labels import labels_of


def test_the_labels_of_an_app_are_the_untranslated_names_of_its_models_and_fields():
    with override("de"):
        labels = labels_of(apps.get_app_config("approvals"))
    assert {"ID", "webhook endpoint", "webhook endpoints", "address", "include payload"} - labels == set()
