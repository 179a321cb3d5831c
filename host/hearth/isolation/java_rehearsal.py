"""The rehearsal of a Java stage: loads the classes that every stage needs, so that its JVM can archive them.

``python -m hearth.isolation.java_rehearsal DIRECTORY`` names the stage's directory; `java_stage` calls it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hearth.isolation.java_environment import java_environment
from hearth.isolation.stage import Stage
from hearth_api import INT64_SCHEMA, STRING_SCHEMA, SchemaBuilder, SinkRecord, Struct
from hearth_api.batch import records_to_batches
from hearth_execution.order import number_rows
from hearth_execution.transformation import Step
from hearth_stage.call import Call
from hearth_stage.conversion_call import Cells, Serialize
from hearth_stage.plugin_call import Configure, Describe, Load, Validate, WantedPlugin
from hearth_stage.transformation_call import Apply

_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_TRANSFORMATION = "org.apache.kafka.connect.transforms.ReplaceField$Value"
_TIMEOUT_SECONDS = 60
_ROWS = SchemaBuilder.struct().field("id", INT64_SCHEMA).field("name", STRING_SCHEMA).build()


def rehearse(directory: Path) -> None:
    """Let a stage describe, validate, transform and convert with Kafka's own plugins, and end."""
    wanted = [
        WantedPlugin("value.converter", "as.Configured", _CONVERTER, {}),
        WantedPlugin("transforms.a", "as.Configured", _TRANSFORMATION, {"exclude": "name"}),
    ]
    record = SinkRecord("topic", 0, None, None, _ROWS, Struct(_ROWS, id=1, name="a"), kafka_offset=0)
    (batch,) = records_to_batches([record])
    batch = number_rows(batch)
    calls: list[Call[Any]] = [
        Describe(_TRANSFORMATION, "transformation"),
        Validate(_TRANSFORMATION, {"exclude": "name"}, "transformation", ""),
        Configure("sink", 0, 1),
        Load(wanted),
        Apply([Step("transforms.a")], [batch]),
        Serialize(["value.converter"], "topic", Cells.of(batch.select(["value", "row"]))),
    ]
    with TemporaryDirectory() as jars:
        stage = Stage.start(java_environment("rehearsal", Path(jars), directory), "rehearsal")
        for call in calls:
            stage.call(call, _TIMEOUT_SECONDS)
        stage.close(_TIMEOUT_SECONDS)  # the archive is written while the JVM ends


if __name__ == "__main__":
    rehearse(Path(sys.argv[1]))
