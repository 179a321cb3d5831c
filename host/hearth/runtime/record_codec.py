"""Converts single records between bytes and Connect data with a connector's converters, outside a task."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.isolation.stage import Stage
from hearth.kafka.fetched import Incoming
from hearth.kafka.topic_range import RawRecord
from hearth.runtime.pipeline import Pipeline
from hearth.staging.place import PlaceOpener
from hearth.staging.plugin_plan import PluginPlan
from hearth_api.batch import Batch
from hearth_execution.failure import Failure
from hearth_execution.raw_header import RawHeaders, raw_column, raw_rows
from hearth_execution.retry import Retry
from hearth_stage.channel import Request

_CREATE_TIME = 1


@dataclass(frozen=True)
class WrittenRecord:
    """Bytes for Kafka."""

    key: bytes | None
    value: bytes | None
    headers: RawHeaders


class RecordCodec:
    """The converters of a plan, in their stages; ``opened`` closes them. Used by one thread.

    Errors are those that a task would fail with.
    """

    def __init__(self, plan: PluginPlan, opened: ExitStack) -> None:
        settings = plan.settings
        retry = Retry(settings.retry_timeout_ms, settings.retry_delay_max_ms)
        self.places = PlaceOpener(plan, _ignore_request, _log_death, retry).open_places(opened)
        self._pipeline = Pipeline(plan, self.places, ())

    def read(self, record: RawRecord) -> Batch:
        """Return a record's Connect data, as a batch of one row."""
        outcome = self._pipeline.deserializing(_incoming(record))()
        _refuse(outcome.failures)
        (batch,) = outcome.batches
        return batch

    def write(self, batch: Batch) -> WrittenRecord:
        """Return the bytes of a batch of one row."""
        prepared = self._pipeline.preparing([batch])()
        _refuse(prepared.failures)
        ((outgoing, _),) = prepared.outgoing
        key = None if outgoing.key is None else outgoing.key[0].as_py()
        headers = [] if outgoing.headers is None else raw_rows(outgoing.headers)[0]
        return WrittenRecord(key, outgoing.value[0].as_py(), headers)


def _incoming(record: RawRecord) -> Incoming:
    def cell(data: bytes | None) -> Any:
        return pa.array([data], pa.binary())

    has_time = record.timestamp is not None
    return Incoming(
        topic=record.topic,
        partition=np.array([record.partition], np.int32),
        offset=np.array([record.offset], np.int64),
        key=cell(record.key),
        value=cell(record.value),
        timestamp=np.array([record.timestamp], np.int64) if has_time else None,
        timestamp_type=_CREATE_TIME if has_time else 0,
        headers=raw_column([record.headers]) if record.headers else None,
    )


def _refuse(failures: list[Failure]) -> None:
    for failure in failures:
        raise failure.error.to_error()


def _ignore_request(request: Request) -> None:
    """Leave a request of a converter's stage unanswered: converters make none."""


def _log_death(stage: Stage) -> None:
    """Do nothing: the next call raises what ended the stage."""
