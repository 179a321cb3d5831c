"""Makes the plan of a write from options and columns, on the driver."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import replace

import orjson
from pyspark.sql.types import StructType

from hearth.config.sink_key import TOPICS
from hearth.datasource.batch_number import MOST, OPTION, next_number
from hearth.datasource.dead_letter_file import absolute
from hearth.datasource.option import Options
from hearth.datasource.planning import planned
from hearth.datasource.row_form import RowForm
from hearth.datasource.write_plan import WritePlan
from hearth.datasource.written_task import RetryBudget
from hearth.discovery import PluginType
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import ConfigError, ConnectError
from hearth_stage.form import codec_of

TOPIC = "topic"
DEFAULT_TOPIC = "hearth"
"""The topic of rows if neither they nor the options have one."""
BETWEEN_PARTITIONS = 2.0
"""How many seconds a task is kept for the next partition of the same batch write."""
_FLUSHING = re.compile(r"flush|rotat|commit|linger|batch|buffer|upload", re.IGNORECASE)
"""Matches keys that may control when a connector flushes."""


class NotAppended(ConfigError):
    """A write in a mode other than append: a sink cannot replace its data."""

    code = "datasource.mode"


def plan_write(given: Mapping[str, str], schema: StructType, *, replaces: bool, is_batch: bool) -> WritePlan:
    """Return the plan of a write; raises ConfigError if options and columns do not allow it."""
    if replaces:
        raise NotAppended(
            "a sink cannot replace its data",
            hint='use mode("append"), or outputMode("append") for a query',
        )
    options = Options.parse(given)
    settings = options.settings
    topic = _topic(options.config)
    RowForm.of(schema, topic, settings.value)
    known = planned(replace(options, config={TOPICS: topic, **options.config}), PluginType.SINK)
    if not known.plans:
        raise ConnectError(
            f"{known.connector.class_name} has no tasks for this configuration, so nothing can be written"
        )
    keys = tuple(key for key in known.keys if _FLUSHING.search(key))
    keep_seconds = settings.keep_ms / 1000
    return WritePlan(
        id=str(uuid.uuid4()),
        plans=known.plans,
        fingerprints=tuple(map(_fingerprint, known.plans)),
        schema=schema,
        topic=topic,
        value=settings.value,
        batch_id=_batch_id(settings.batch_id) if is_batch else None,
        dead_letters=None if settings.dead_letters is None else absolute(settings.dead_letters),
        retry_budget=RetryBudget(settings.retry_ms / 1000, settings.flush_ms / 1000, keys),
        keep_seconds=min(keep_seconds, BETWEEN_PARTITIONS) if is_batch else keep_seconds,
    )


def _topic(config: Mapping[str, str]) -> str:
    """Return the default topic of rows: ``topic``, or ``topics`` if that is a single one."""
    listed = [each.strip() for each in config.get(TOPICS, "").split(",") if each.strip()]
    if config.get(TOPIC, "").strip():
        return config[TOPIC].strip()
    return listed[0] if len(listed) == 1 else DEFAULT_TOPIC


def _batch_id(given: int | None) -> int:
    """Return the number of a batch write: the user's, or a new one."""
    if given is None:
        return next_number()
    if not 0 <= given <= MOST:
        raise ConfigError(OPTION, given, f"Value must be from 0 to {MOST}")
    return given


def _fingerprint(plan: PluginPlan) -> str:
    """Return the fingerprint of a plan, which reveals nothing of it."""
    return hashlib.sha256(orjson.dumps(codec_of(PluginPlan).write(plan))).hexdigest()
