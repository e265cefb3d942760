"""The addresses of Pausepoint, with that of the style guide."""

from __future__ import annotations

from django.urls import path

from docs.styleguide.page import styleguide
from hitlsite import urls
from hitlsite.urls import handler400, handler403, handler404, handler429, handler500

__all__ = [
    "handler400",
    "handler403",
    "handler404",
    "handler429",
    "handler500",
    "urlpatterns",
]

urlpatterns = [path("styleguide/", styleguide, name="styleguide"), *urls.urlpatterns]
