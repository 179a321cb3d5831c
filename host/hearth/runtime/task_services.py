"""The services that the parts of a task's loop share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hearth.isolation.stage import Stage
from hearth.runtime.conversion import Conversion
from hearth.runtime.event_queue import EventQueue
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pipeline import Pipeline
from hearth.staging.tolerance import Tolerance

R = TypeVar("R")


@dataclass(frozen=True)
class TaskServices(Generic[R]):
    """What the loop of a run and its parts work with; ``R`` is what the conversion returns."""

    event_queue: EventQueue
    observer: TaskObserver
    tolerance: Tolerance
    stage: Stage
    pipeline: Pipeline
    conversion: Conversion[R]
    clock: Callable[[], float] = time.monotonic
