"""The types of JSON objects: one that its holder may change, and one that is only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonDict = dict[str, Any]
JsonMapping = Mapping[str, Any]
