"""Previews of connectors: what becomes of a few records, step by step, without writing anything anywhere."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import TopicPartition

from hearth.config import ConnectorConfig
from hearth.config.sink_key import parse_topics
from hearth.config.variable import Resolved
from hearth.discovery import Plugin, PluginType
from hearth.foundation.nearest import did_you_mean
from hearth.herder.busy import BusyError
from hearth.herder.planner import Planner
from hearth.herder.plugin_planner import PluginPlanner
from hearth.herder.record_plan import SIDES, json_plan
from hearth.herder.source_sample import first_task_plan, sampled
from hearth.herder.validation.override import refuse_overrides
from hearth.kafka.client import consumer_config
from hearth.kafka.topic_range import LOOK_SECONDS, RawRecord, TopicRange
from hearth.runtime.record_codec import RecordCodec
from hearth.runtime.record_steps import RecordSteps, StepResult
from hearth.runtime.record_view import RecordView
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import ConfigError, ConnectError, Password
from hearth_api.batch import Batch
from hearth_execution.raw_header import RawHeaders

MOST_RECORDS, MOST_SECONDS, MOST_BYTES = 1_000, 60.0, 1 << 20
AT_ONCE = 2
"""How many previews a host makes at the same time."""
HIDDEN = str(Password(""))
_ENVELOPE = {"schema", "payload"}
_PREFIXES = ("transforms.", "predicates.")
_SHORTEST_SECRET = 4


@dataclass(frozen=True)
class PreviewRequest:
    """What to preview: at most ``limit`` records within ``seconds``.

    ``begin`` is ``beginning``, ``end`` or ``committed``. ``records`` are given as JSON, so that no source and no Kafka
    is used. A source is polled only if ``accepts_effects``: its system may notice. ``values`` is ``show`` or
    ``shape``.
    """

    name: str
    config: Mapping[str, str] = field(repr=False)
    records: tuple[Mapping[str, Any], ...] | None = None
    begin: str = "beginning"
    limit: int = 10
    seconds: float = 10.0
    accepts_effects: bool = False
    values: str = "show"

    def refuse(self) -> None:
        """Raise ConfigError for a value that is not allowed."""
        checks = {
            "limit": (self.limit, 1 <= self.limit <= MOST_RECORDS, f"1 to {MOST_RECORDS}"),
            "seconds": (self.seconds, 0 < self.seconds <= MOST_SECONDS, f"up to {MOST_SECONDS:g}"),
            "from": (self.begin, self.begin in ("beginning", "end", "committed"), "beginning, end or committed"),
            "values": (self.values, self.values in ("show", "shape"), "show or shape"),
        }
        for name, (value, is_valid, allowed) in checks.items():
            if not is_valid:
                raise ConfigError(f"{name} is {value!r}, expected {allowed}", code="preview.invalid")


_KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "config": (dict,),
    "records": (list,),
    "from": (str,),
    "limit": (int,),
    "seconds": (int, float),
    "accept_effects": (bool,),
    "values": (str,),
}
_NAMES = {"from": "begin", "accept_effects": "accepts_effects"}


def parse_request(given: Any) -> PreviewRequest:
    """Return the request of a JSON object; raises ConfigError for an unknown or missing member or a wrong type."""
    if not isinstance(given, dict) or not isinstance(given.get("config"), dict):
        raise ConfigError("a preview needs config, an object", code="preview.invalid")
    for name, value in given.items():
        if name not in _KINDS:
            raise ConfigError(
                f"{name!r} is no member of a preview{did_you_mean(name, _KINDS)}", code="preview.invalid"
            )
        is_right = isinstance(value, _KINDS[name]) and isinstance(value, bool) == (name == "accept_effects")
        if value is not None and not is_right:
            raise ConfigError(f"{name} is {value!r}, which has the wrong type", code="preview.invalid")
    members = {_NAMES.get(str(each), str(each)): value for each, value in given.items() if value is not None}
    config = {name: value if isinstance(value, str) else str(value) for name, value in given["config"].items()}
    named, records = given.get("name") or config.get("name") or "preview", given.get("records")
    return PreviewRequest(
        **{**members, "name": named, "config": config, "records": None if records is None else tuple(records)}
    )


class Previews:
    """Makes previews. Thread-safe.

    A preview joins no group, commits nothing, creates no topic, registers no schema and never makes a sink's task: it
    ends before `put`. Its plugins run in processes of its own, which end with it.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def make(self, request: PreviewRequest) -> dict[str, Any]:
        """Return the records with their steps, and how it ended: limit, time, end, failed or size."""
        request.refuse()
        if not self._free.acquire(blocking=False):
            raise BusyError(f"{AT_ONCE} previews are being made")
        try:
            return self._made(request)
        finally:
            self._free.release()

    def _made(self, request: PreviewRequest) -> dict[str, Any]:
        given = {**request.config, "name": request.name}
        resolved = self._planner.variables.of(given).resolve(given)
        connector = self._planner.directory.connector(resolved.config)
        refuse_overrides(self._planner.policy, connector, resolved.config, self._planner.worker)
        made = _Preview(request, resolved, connector, self._planner)
        with ExitStack() as opened:
            return made.run(opened)


@dataclass(frozen=True)
class _Preview:
    """One preview."""

    request: PreviewRequest
    resolved: Resolved
    connector: Plugin
    planner: Planner

    def run(self, opened: ExitStack) -> dict[str, Any]:
        """Collect the steps of records until a limit is reached."""
        config = self._without_registration(dict(self.resolved.config))
        planner = PluginPlanner(self.planner.directory, self.planner.worker_for(config))
        view = RecordView(RecordCodec(json_plan(planner), opened), self._hidden, self.request.values == "shape")
        is_source = self.connector.type is PluginType.SOURCE and self.request.records is None
        steps = RecordSteps(
            planner.plan_steps(ConnectorConfig(config), "source" if is_source else "sink"), view, opened
        )
        shown: list[dict[str, Any]] = []
        size, ended, error = 0, "end", None
        deadline = time.monotonic() + self.request.seconds
        try:
            for number, results in enumerate(self._results(steps, planner, config, opened), 1):
                shown.append({"n": number, "steps": [each.to_json() for each in results]})
                size += len(json.dumps(shown[-1]))
                if number >= self.request.limit or size > MOST_BYTES:
                    ended = "limit" if number >= self.request.limit else "size"
                    break
                if time.monotonic() > deadline:
                    ended = "time"
                    break
            else:
                ended = "time" if time.monotonic() >= deadline else "end"
        except ConnectError as failure:
            if not shown:
                raise
            ended, error = "failed", self._hidden(str(failure))
        return {"records": shown, "ended": ended, "error": error, "notes": self._notes(is_source)}

    def _results(
        self, steps: RecordSteps, planner: PluginPlanner, config: dict[str, str], opened: ExitStack
    ) -> Iterator[list[StepResult]]:
        if self.request.records is not None:
            for batch in self._given(planner, opened):
                yield steps.of_given(batch)
        elif self.connector.type is PluginType.SOURCE:
            for batch in self._polled(config):
                yield steps.of_polled(batch)
        else:
            for record in self._consumed(config):
                yield steps.of_consumed(record)

    def _given(self, planner: PluginPlanner, opened: ExitStack) -> Iterator[Batch]:
        """Yield the given records: JSON, or envelopes with schema and payload."""
        codecs = {each: RecordCodec(json_plan(planner, each), opened) for each in (False, True)}
        topics = parse_topics(self.resolved.config) or [self.resolved.config.get("topic") or "given"]
        for number, each in enumerate(self.request.records or ()):
            if not isinstance(each, Mapping):
                raise ConfigError(f"record {number} is no object", code="preview.record", hint='{"value": …}')
            cells = {side: each.get(side) for side in SIDES}
            is_enveloped = any(isinstance(cell, dict) and cell.keys() == _ENVELOPE for cell in cells.values())
            key, value = (None if cell is None else json.dumps(cell).encode() for cell in cells.values())
            headers: RawHeaders = [(name, str(text).encode()) for name, text in (each.get("headers") or {}).items()]
            topic = str(each.get("topic") or topics[0])
            yield codecs[is_enveloped].read(RawRecord(topic, 0, number, each.get("timestamp"), key, value, headers))

    def _polled(self, config: dict[str, str]) -> Iterator[Batch]:
        if not self.request.accepts_effects:
            raise ConfigError(
                f"polling {self.connector.class_name} may be noticed by its system",
                code="preview.effects",
                hint="accept that (accept_effects, --accept-effects), or give records",
            )
        plan = first_task_plan(self.planner, self.connector, config)
        kept = tuple(each for each in plan.plugins if not each.role.startswith(_PREFIXES))
        alone: PluginPlan = replace(plan, plugins=kept)
        for batch in sampled(alone, self.request.seconds, 1.0):
            for row in range(batch.num_rows):
                yield batch.slice(row, 1)

    def _consumed(self, config: Mapping[str, str]) -> Iterator[RawRecord]:
        worker = self.planner.worker_for(config).originals
        kafka = consumer_config(worker, config, self.request.name).config
        topics = parse_topics(config)
        if not topics:
            raise ConfigError("topics.regex is not previewed", code="preview.topics", hint="preview it with topics")
        deadline = time.monotonic() + self.request.seconds
        for topic in topics:
            with TopicRange(kafka, topic) as records:
                left = max(0.1, deadline - time.monotonic())
                yield from records.read(self._begins(records, topic), left, follows=self.request.begin == "end")

    def _begins(self, records: TopicRange, topic: str) -> dict[int, int]:
        """Return where to begin in each partition; a committed offset is read and stays."""
        if self.request.begin == "end":
            return {number: end for number, (_, end) in records.bounds.items()}
        begins = {number: begin for number, (begin, _) in records.bounds.items()}
        if self.request.begin == "committed":
            places = [TopicPartition(topic, number) for number in begins]
            found = records.consumer.committed(places, timeout=LOOK_SECONDS)
            begins |= {each.partition: each.offset for each in found if each.offset >= 0}
        return begins

    def _without_registration(self, config: dict[str, str]) -> dict[str, str]:
        """Return the configuration with its converters' settings, which register no schema."""
        worker = self.planner.worker.originals
        for side in SIDES:
            role = f"{side}.converter"
            if not config.get(role):
                config |= {key: value for key, value in worker.items() if key == role or key.startswith(f"{role}.")}
            config[f"{role}.auto.register.schemas"] = "false"
        return config

    def _hidden(self, text: str) -> str:
        """Replace values of variables in a text."""
        for name, value in self.resolved.config.items():
            is_secret = self.resolved.is_hidden(name) and isinstance(value, str) and len(value) >= _SHORTEST_SECRET
            if is_secret:
                text = text.replace(value, HIDDEN)
        return text

    def _notes(self, is_source: bool) -> list[str]:
        notes = ["nothing is written, committed, created or registered"]
        if is_source:
            notes.append("the source begins without offsets; a schema that the registry lacks makes convert fail")
        return notes
