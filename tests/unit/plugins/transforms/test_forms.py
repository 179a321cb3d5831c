"""The rule for every transformation and predicate: batches give what records give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from hearth_api import STRING_SCHEMA, Header
from hearth_api.batch import Batch, BatchPredicate, BatchTransformation
from hearth_transforms.cast import CastKey, CastValue
from hearth_transforms.casting import OUTPUTS
from hearth_transforms.drop_headers import DropHeaders
from hearth_transforms.extract_field import ExtractFieldKey, ExtractFieldValue
from hearth_transforms.filter import Filter
from hearth_transforms.flatten import FlattenKey, FlattenValue
from hearth_transforms.header_from import HeaderFromKey, HeaderFromValue
from hearth_transforms.hoist_field import HoistFieldKey, HoistFieldValue
from hearth_transforms.insert_field import InsertFieldKey, InsertFieldValue
from hearth_transforms.insert_header import InsertHeader
from hearth_transforms.mask_field import MaskFieldKey, MaskFieldValue
from hearth_transforms.predicate import HasHeaderKey, RecordIsTombstone, TopicNameMatches
from hearth_transforms.regex_router import RegexRouter
from hearth_transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue
from hearth_transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue
from hearth_transforms.side import R
from hearth_transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue
from hearth_transforms.timestamp_router import TimestampRouter
from hearth_transforms.value_to_key import ValueToKey
from tests.unit.plugins.transforms.sample import batches, check_forms, records_of

INSERT = {
    "topic.field": "t",
    "partition.field": "p",
    "timestamp.field": "ts!",
    "static.field": "s!",
    "static.value": "",
}
CASTS = [type_.value for type_ in OUTPUTS]
TRANSFORMATIONS: list[tuple[type[BatchTransformation], dict[str, Any]]] = [
    (HoistFieldKey, {"field": "f"}),
    (HoistFieldValue, {"field": "@f"}),
    (ExtractFieldKey, {"field": "a"}),
    (ExtractFieldValue, {"field": "a"}),
    (ExtractFieldValue, {"field": "b", "replace.null.with.default": "false"}),
    (ExtractFieldValue, {"field": "a.b", "field.syntax.version": "v2"}),
    (ExtractFieldValue, {"field": "a.b", "field.syntax.version": "V2", "replace.null.with.default": "false"}),
    (InsertFieldKey, INSERT),
    (InsertFieldValue, INSERT),
    (InsertFieldValue, {**INSERT, "replace.null.with.default": "false"}),
    (InsertFieldValue, {"offset.field": "o!"}),
    (InsertFieldValue, {"topic.field": "a"}),
    (MaskFieldKey, {"fields": "a,b"}),
    (MaskFieldValue, {"fields": "a,b"}),
    (MaskFieldValue, {"fields": "a", "replace.null.with.default": "false"}),
    (MaskFieldValue, {"fields": "a,zz", "replacement": "12"}),
    (MaskFieldValue, {"fields": "b", "replacement": "x"}),
    (RegexRouter, {"regex": "(to).*", "replacement": "$1-new"}),
    (RegexRouter, {"regex": "other", "replacement": "x"}),
    (ReplaceFieldKey, {"exclude": "a"}),
    (ReplaceFieldValue, {"renames": "a:b,b:a", "replace.null.with.default": "false"}),
    (ReplaceFieldValue, {"include": "a,b", "renames": "a:b", "exclude": "b"}),
    (ReplaceFieldValue, {"renames": "a:x,b:x", "exclude": "a"}),
    *[(CastValue, {"spec": type_}) for type_ in CASTS],
    *[(CastKey, {"spec": f"a:{type_},b:{type_}"}) for type_ in CASTS],
    (CastValue, {"spec": "a:int8,b:string,zz:string", "replace.null.with.default": "false"}),
    (FlattenKey, {"delimiter": "_"}),
    (FlattenValue, {}),
    (ValueToKey, {"fields": "a"}),
    (ValueToKey, {"fields": "b,a", "replace.null.with.default": "false"}),
    (SetSchemaMetadataKey, {"schema.name": "n"}),
    (SetSchemaMetadataValue, {"schema.version": "3"}),
    (SetSchemaMetadataValue, {"schema.name": "n", "replace.null.with.default": "false"}),
    (Filter, {}),
    (TimestampRouter, {}),
    (TimestampRouter, {"topic.format": "${timestamp}", "timestamp.format": "yyyy-MM-dd'T'HH:mm:ss.SSS"}),
    (DropHeaders, {"headers": "a"}),
    (DropHeaders, {"headers": "a,zz,b"}),
    (InsertHeader, {"header": "a", "value.literal": "text"}),
    (InsertHeader, {"header": "", "value.literal": "[1, 2]"}),
    (InsertHeader, {"header": "n", "value.literal": "null"}),
    (HeaderFromKey, {"fields": "a", "headers": "h", "operation": "copy"}),
    (HeaderFromValue, {"fields": "a,b", "headers": "h,a", "operation": "move"}),
    (HeaderFromValue, {"fields": "a", "headers": "h", "operation": "move", "replace.null.with.default": "false"}),
    (TimestampConverterKey, {"target.type": "unix", "unix.precision": "microseconds"}),
    (TimestampConverterValue, {"target.type": "Date", "unix.precision": "seconds"}),
    (TimestampConverterValue, {"target.type": "Time", "unix.precision": "nanoseconds", "format": "yyyy"}),
    (TimestampConverterValue, {"target.type": "Timestamp", "field": "a"}),
    (TimestampConverterValue, {"target.type": "unix", "field": "b", "unix.precision": "nanoseconds"}),
    (TimestampConverterValue, {"target.type": "string", "field": "a", "format": "yyyy-MM-dd HH:mm:ss.SSS"}),
    (TimestampConverterKey, {"target.type": "string", "format": "s", "replace.null.with.default": "false"}),
    (TimestampConverterValue, {"target.type": "Date", "field": "a", "replace.null.with.default": "false"}),
]
THOROUGH = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(("kind", "config"), TRANSFORMATIONS, ids=lambda value: getattr(value, "__name__", ""))
@THOROUGH
@given(batch=batches() | batches(unsound=True))
def test_a_transformation_gives_the_same_records_in_both_forms(
    kind: type[BatchTransformation], config: dict[str, Any], batch: Batch
) -> None:
    """Same records, same order, same refusals; the numbers of the rows go along."""
    transformation = kind()
    transformation.configure(config)
    check_forms(transformation, batch)


class Labelling(ExtractFieldValue):
    """Says in headers, timestamp and Kafka partition that a record was here."""

    def apply(self, record: R) -> R:
        """Extract the field and label the record."""
        headers = [*record.headers, Header("seen", STRING_SCHEMA, "yes")]
        return super().apply(record).new_record(kafka_partition=3, timestamp=4, headers=headers)


@THOROUGH
@given(batch=batches().filter(lambda batch: batch.value_schema is None))
def test_whatever_the_form_for_records_changes_is_changed(batch: Batch) -> None:
    """Where columns will not do the records are taken as a whole, not their keys and values alone."""
    transformation = Labelling()
    transformation.configure({"field": "a"})
    check_forms(transformation, batch)


PREDICATES: list[tuple[type[BatchPredicate], dict[str, Any]]] = [
    (TopicNameMatches, {"pattern": "to.*"}),
    (TopicNameMatches, {"pattern": "o"}),
    (HasHeaderKey, {"name": "a"}),
    (RecordIsTombstone, {}),
]


@pytest.mark.parametrize(("kind", "config"), PREDICATES, ids=lambda value: getattr(value, "__name__", ""))
@THOROUGH
@given(batch=batches())
def test_a_predicate_gives_the_same_answers_in_both_forms(
    kind: type[BatchPredicate], config: dict[str, Any], batch: Batch
) -> None:
    """One answer per row, none of them null."""
    predicate = kind()
    predicate.configure(config)
    assert predicate.test_batch(batch).to_pylist() == [predicate.test(record) for record in records_of(batch)]
