"""Translates records between a connector's format and lines of JSON, for `hearth consume` and `hearth produce`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import Any

from hearth.cli.worker_file import plugin_path
from hearth.config import WorkerConfig
from hearth.discovery import PluginScanner
from hearth.discovery.trust import trust_of
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin_planner import PluginPlanner
from hearth.herder.record_plan import converting_plan, json_plan
from hearth.herder.worker_choice import GovernedVariables
from hearth.isolation.environment_store import user_environments
from hearth.kafka.topic_range import RawRecord
from hearth.runtime.record_codec import RecordCodec, WrittenRecord
from hearth_api import ConfigError

_SIDES = ("key", "value")


class Transcoder:
    """Converts records with the converters of a configuration, and with JSON on the user's side.

    With ``is_enveloped`` that JSON has the schema next to the payload, as JsonConverter writes it, so that any
    converter's data passes through it unchanged. ``opened`` closes the converters.
    """

    def __init__(self, worker: WorkerConfig, config: Mapping[str, str], is_enveloped: bool, opened: ExitStack) -> None:
        trust = trust_of(worker.originals)
        directory = PluginDirectory(
            PluginScanner(plugin_path(worker.plugin_path), admit=trust.admit).look, user_environments(trust)
        )
        with closing(GovernedVariables(worker, directory)) as variables:
            resolved = variables.of(config).resolve(config).config
        planner = PluginPlanner(directory, worker)
        self._is_enveloped = is_enveloped
        self._own = RecordCodec(converting_plan(planner, resolved), opened)
        self._json = RecordCodec(json_plan(planner, is_enveloped), opened)

    def to_json(self, record: RawRecord) -> dict[str, Any]:
        """Return a record for a line; raises what the converters raise."""
        batch = self._own.read(record)
        written = self._json.write(batch.with_columns(headers=None))
        return {
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": None if written.key is None else json.loads(written.key),
            "value": None if written.value is None else json.loads(written.value),
            "headers": {name: None if data is None else _text(data) for name, data in record.headers},
        }

    def from_json(self, topic: str, members: Mapping[str, Any]) -> WrittenRecord:
        """Return the bytes of a line's record; raises ConfigError for one of another form, or a converter's error."""
        if not isinstance(members, dict) or not members.keys() & {*_SIDES, "headers"}:
            raise ConfigError("a line is no record", code="produce.line", hint='write {"key": …, "value": …}')
        key, value = (json.dumps(members[side]).encode() if members.get(side) is not None else None for side in _SIDES)
        written = self._own.write(self._json.read(RawRecord(topic, 0, 0, None, key, value)))
        headers = [(name, None if text is None else str(text).encode()) for name, text in _headers(members)]
        return WrittenRecord(written.key, written.value, [*written.headers, *headers])


def _headers(members: Mapping[str, Any]) -> list[tuple[str, Any]]:
    headers = members.get("headers") or {}
    if not isinstance(headers, dict):
        raise ConfigError("headers of a line are no object", code="produce.line", hint='write {"name": "text"}')
    return list(headers.items())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
