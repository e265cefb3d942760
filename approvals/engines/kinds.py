"""The engines by their kind."""

from __future__ import annotations

from collections.abc import Mapping

from approvals.engines.calls import Engine
from approvals.engines.own_handler import OwnHandler
from approvals.engines.prefect import Prefect
from approvals.engines.restate import Restate
from approvals.engines.temporal import Temporal
from approvals.engines.trigger_dev import TriggerDev
from approvals.states import EngineKind

ENGINES: Mapping[str, Engine] = {
    EngineKind.TEMPORAL: Temporal(),
    EngineKind.RESTATE: Restate(),
    EngineKind.TRIGGER_DEV: TriggerDev(),
    EngineKind.PREFECT: Prefect(),
    EngineKind.OWN_HANDLER: OwnHandler(),
}
