"""The prices of models. Only the admin writes them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.validators import MinValueValidator
from django.db import models


def _price(**more: Any) -> models.DecimalField[Any, Any]:
    return models.DecimalField(
        max_digits=12, decimal_places=4, validators=[MinValueValidator(0)], **more
    )


class ModelPrice(models.Model):
    """The price of a million tokens of a model from a date on, maintained by the administrator.

    The row with the longest matching `prefix` of the model's name counts; among these one for the answer's service tier before
    one for all, then the latest date, then the highest `above` that the prompt exceeds, because long prompts may cost more.
    `cache_write` is for five minutes, and for an hour too without `cache_write_hour`. `searches` is the price of a thousand web
    searches.
    """

    prefix = models.CharField(max_length=100)
    valid_from = models.DateField()
    above = models.PositiveIntegerField(default=0)
    service_tier = models.CharField(max_length=50, blank=True)
    currency = models.CharField(max_length=3, default="USD")
    input = _price()
    cache_write = _price()
    cache_write_hour = _price(null=True, blank=True)
    cache_read = _price()
    output = _price()
    searches = _price(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["prefix", "valid_from", "above", "service_tier"],
                name="model_price_of_a_tier",
            )
        ]

    def __str__(self) -> str:
        return f"{self.prefix} from {self.valid_from}"
