"""A value that holds itself passes converters and transformations, all of which are given it as records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth_api import Struct
from hearth_api.batch import Batch, batch_to_sink_records, column_to_values, values_to_column
from hearth_execution.converter import Converters
from hearth_execution.order import number_rows
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import HeaderRows, raw_column
from hearth_execution.transformation import Outcome, Step, Transformations
from tests.unit.hearth_api.test_schema_reference import chain, node, reference

TRANSFORMS = "org.apache.kafka.connect.transforms."
NODE = node()
VALUES = [chain(NODE, 1, 2, 3), None, chain(NODE, 4)]
STEPS = [
    ("hearth_transforms.insert_field:InsertFieldValue", {"static.field": "more", "static.value": "x"}),
    ("hearth_transforms.mask_field:MaskFieldValue", {"fields": "value"}),
    ("hearth_transforms.replace_field:ReplaceFieldValue", {"renames": "next:following"}),
    ("hearth_transforms.value_to_key:ValueToKey", {"fields": "following"}),
    ("hearth_transforms.set_schema_metadata:SetSchemaMetadataKey", {"schema.name": "Key"}),
    ("hearth_transforms.cast:CastValue", {"spec": "value:int32"}),
    ("hearth_transforms.extract_field:ExtractFieldValue", {"field": "following"}),
    ("hearth_transforms.set_schema_metadata:SetSchemaMetadataValue", {"schema.name": "Other"}),
]


def batch() -> Batch:
    """Return a numbered batch of nodes."""
    data = pa.RecordBatch.from_arrays([values_to_column(NODE, [VALUES[0], VALUES[2]])], names=["value"])
    return number_rows(Batch("t", None, NODE, data))


def transformed(*steps: tuple[str, dict[str, Any]]) -> Outcome:
    """Return the batch after the steps."""
    plugins = Plugins("sink")
    for number, (place, config) in enumerate(steps):
        plugins.load(str(number), TRANSFORMS, place, config)
    return Transformations(plugins).apply([Step(str(number)) for number in range(len(steps))], [batch()])


@pytest.mark.parametrize("count", range(1, len(STEPS) + 1))
def test_transformations_change_the_struct_around_it(count: int) -> None:
    """The recursive struct stays the same, also if it is extracted, named, or becomes the key."""
    outcome = transformed(*STEPS[:count])
    assert outcome.failures == []
    records = [record for each in outcome.batches for record in batch_to_sink_records(each)]
    expected = {
        1: "Struct{value=1,next=Struct{value=2,next=Struct{value=3}},more=x}",
        3: "Struct{value=0,following=Struct{value=2,next=Struct{value=3}},more=x}",
        len(STEPS): "Struct{value=2,next=Struct{value=3}}",
    }
    assert str(records[0].value) == expected.get(count, str(records[0].value))
    if count == len(STEPS):
        assert str(records[0].key) == "Struct{following=Struct{value=2,next=Struct{value=3}}}"
        schema = records[0].value_schema
        assert schema is not None
        assert (schema.name, reference(schema).name) == ("Other", "Node")


def test_flatten_has_no_end_there() -> None:
    """So it says which field that is."""
    outcome = transformed(("hearth_transforms.flatten:FlattenValue", {}))
    assert [each.row for each in outcome.failures] == [0, 1]
    assert "does not support schemas that hold themselves (for field next)" in outcome.failures[0].error.message


@pytest.mark.parametrize("kind", ["avro", "protobuf"])
def test_converters_are_given_it_value_by_value(kind: str) -> None:
    """And values read are columns of it again."""
    plugins = Plugins("sink")
    place = f"hearth_registry.{kind}_converter:{kind.capitalize()}Converter"
    plugins.load("value.converter", kind, place, {"schema.registry.url": "mock://pipeline"})
    values = [chain(node(), 1, 2), chain(node(), 3)]
    column, rows = values_to_column(NODE, values), np.arange(2)
    headers = HeaderRows(raw_column([[], []]))
    converters = Converters(plugins)
    data, failures = converters.serialize("value.converter", "t", NODE, column, rows, headers)
    assert failures == []
    runs, failures = converters.deserialize("value.converter", "t", data, rows, headers)
    assert failures == []
    (run,) = runs
    ends = ",children=[],named={}" if kind == "protobuf" else ""
    assert str(column_to_values(run.schema, run.column)[0]) == (
        f"Struct{{value=1,next=Struct{{value=2{ends}}}{ends}}}"
    )


def test_json_has_no_form_for_its_schema() -> None:
    """Without schemas it is written as it is."""
    for enabled, expected in (("false", b'"next":{"value":2,"next":null'), ("true", None)):
        plugins = Plugins("sink")
        config = {"schemas.enable": enabled, "converter.type": "value"}
        plugins.load("value.converter", "json", "hearth_json.converter:JsonConverter", config)
        struct = Struct(NODE).put("value", 1).put("next", chain(reference(NODE), 2))
        column, rows = values_to_column(NODE, [struct]), np.arange(1)
        headers = HeaderRows(raw_column([[]]))
        data, failures = Converters(plugins).serialize("value.converter", "t", NODE, column, rows, headers)
        if expected is None:
            assert "a recursive schema has no JSON form: Node" in failures[0].error.message
        else:
            assert expected in data[0].as_py()
