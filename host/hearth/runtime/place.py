"""Places: where the plugins of one environment run, seen from the pipeline.

Plugins installed with the host run in a ``LocalPlace``, inside this process. Everything from plugin.path runs in the
stage process of its environment, behind a ``StagePlace`` (invariant 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from hearth.isolation.stage import Stage
from hearth.runtime.plan import PluginSpec
from hearth_api import Batch, ColumnRun
from hearth_api import arrow as pa
from hearth_execution.converter import Converters
from hearth_execution.failure import Failure
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import RawHeaders
from hearth_execution.retry import Retry
from hearth_execution.transformation import Outcome, Step, Transformations
from hearth_stage import conversion


class Place(Protocol):
    """Runs plugins on batches; rows are numbered by the ``row`` column."""

    def load(self, plugins: list[PluginSpec]) -> None:
        """Create and configure plugins."""

    def apply(self, steps: list[Step], batch: Batch) -> Outcome:
        """Run consecutive transformation steps."""

    def test(self, role: str, batch: Batch) -> tuple[Any, list[Failure]]:
        """Ask a predicate about every row."""

    def serialize(
        self, role: str, topic: str, schema: Any, column: Any, rows: Any, headers: dict[int, RawHeaders]
    ) -> tuple[Any, list[Failure]]:
        """Turn a column of Connect data into bytes; a converter may change the headers of the records."""

    def deserialize(
        self, role: str, topic: str, data: Any, rows: Any, headers: Mapping[int, RawHeaders]
    ) -> tuple[list[ColumnRun], list[Failure]]:
        """Turn bytes into runs of Connect data."""

    def write_headers(self, topic: str, batch: Batch) -> tuple[list[RawHeaders], list[Failure]]:
        """Serialize the headers of every row."""

    def read_headers(self, topic: str, headers: Mapping[int, RawHeaders], count: int) -> tuple[Any, list[Failure]]:
        """Deserialize raw headers into a column."""

    def close(self) -> None:
        """Close the plugins."""


class LocalPlace:
    """Plugins installed with the host, inside this process."""

    def __init__(self, type_: str, retry: Retry) -> None:
        self._plugins = Plugins(type_, retry)
        converters = Converters(self._plugins)
        transformations = Transformations(self._plugins)
        self.apply = transformations.apply
        self.test = transformations.test
        self.serialize = converters.serialize
        self.deserialize = converters.deserialize
        self.write_headers = converters.write_headers
        self.read_headers = converters.read_headers
        self.close = self._plugins.close

    def load(self, plugins: list[PluginSpec]) -> None:
        """Create and configure plugins."""
        for plugin in plugins:
            self._plugins.load(plugin.role, plugin.class_name, plugin.reference, plugin.config)


class StagePlace:
    """Plugins of a bundle, in the stage process of its environment."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def load(self, plugins: list[PluginSpec]) -> None:
        """Create and configure plugins."""
        wanted = [
            {"role": each.role, "class_name": each.class_name, "reference": each.reference, "config": each.config}
            for each in plugins
        ]
        self.stage.call("load", {"plugins": wanted})

    def apply(self, steps: list[Step], batch: Batch) -> Outcome:
        """Run consecutive transformation steps."""
        reply = self.stage.call("apply", {"steps": [asdict(step) for step in steps]}, [batch])
        return Outcome(reply.batches, [Failure.from_json(each) for each in reply.args["failures"]])

    def test(self, role: str, batch: Batch) -> tuple[Any, list[Failure]]:
        """Ask a predicate about every row."""
        reply = self.stage.call("test", {"role": role}, [batch])
        mask = pa.array(reply.args["mask"], pa.bool_())
        return mask, [Failure.from_json(each) for each in reply.args["failures"]]

    def serialize(
        self, role: str, topic: str, schema: Any, column: Any, rows: Any, headers: dict[int, RawHeaders]
    ) -> tuple[Any, list[Failure]]:
        """Turn a column of Connect data into bytes; a converter may change the headers of the records."""
        return conversion.ask_serialize(self.stage, role, topic, schema, column, rows, headers)

    def deserialize(
        self, role: str, topic: str, data: Any, rows: Any, headers: Mapping[int, RawHeaders]
    ) -> tuple[list[ColumnRun], list[Failure]]:
        """Turn bytes into runs of Connect data."""
        return conversion.ask_deserialize(self.stage, role, topic, data, rows, headers)

    def write_headers(self, topic: str, batch: Batch) -> tuple[list[RawHeaders], list[Failure]]:
        """Serialize the headers of every row."""
        return conversion.ask_write_headers(self.stage, topic, batch)

    def read_headers(self, topic: str, headers: Mapping[int, RawHeaders], count: int) -> tuple[Any, list[Failure]]:
        """Deserialize raw headers into a column."""
        return conversion.ask_read_headers(self.stage, topic, headers, count)

    def close(self) -> None:
        """End the stage process."""
        self.stage.close()
