"""The rule for every first-party plugin with a batch form: it gives the same results as the record form.

The plugins are found as the host finds them, by the entry points of the projects in `plugins`. Settings are drawn from
a plugin's own definition, so a new plugin is tested without a change here; a task needs an environment, which the
tests of its bundle have in `world.py`.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, ConfigKey, ConnectError, Connector, DataError, Header, Schema, SchemaAndValue
from hearth_api.batch import (
    Batch,
    BatchConverter,
    BatchPredicate,
    BatchSinkTask,
    BatchSourceTask,
    BatchTransformation,
    Declined,
    column_to_values,
    plain_to_json,
    values_to_column,
)
from hearth_api.layout import map_members, rewriting, template
from hearth_api.schema import deep_key
from hearth_execution.failure import first_of_each_row
from hearth_execution.load import load_class
from hearth_json import JsonConverter
from hearth_registry.registry_converter import RegistryConverter
from hearth_registry.registry_setting import RegistrySettings
from hearth_transforms.extract_field import ExtractFieldValue
from hearth_transforms.plugin import FieldPlugin
from hearth_transforms.side import R
from tests.unit.hearth_api.strategy import ALIKE, SCHEMALESS, schemas, values
from tests.unit.plugins.transforms.sample import batches, check_forms, numbered, records_of
from tests.unit.plugins.two_forms import answered, messages, read, transformed, written
from tests.unit.run_order import values_in_order

ROOT = Path(__file__).parents[3] / "plugins"
FIELDS = ("a", "b", "a,b", "a.b", "a.a,b")
"""Where there are fields, these are their names."""
WORDS = (
    *FIELDS, "x!", "12", "(to).*", "$1-new", "true", "false", "V2", "value", "NUMERIC", "UTF-16", "ISO-8859-1",
    "a:b", "a:b,b:a", "a:x,b:x", "a:int8,b:string", "a:string", "a.b:string,a.a:int16", "a.b:c,a.a:a",
    "float32", "string", "int32",
    "yyyy-MM-dd H", "s", "[1, 2]", "null", "$.a", "$[?(@.a == 'a' || @.b > 1)]", "$.a[?(@.b)]",
    '{"type": "struct", "optional": true, "fields": [{"field": "a", "type": "string"}]}',
)  # fmt: skip
"""Something among it suits nearly every key that does not list its own words."""
REGISTRY = {"schema.registry.url": "mock://two-forms"}
"""What a converter with a schema registry is given; which registry, and how it is asked, is for tests of its own."""
OF_FORMATS = {"generalized.sum.type.support", "ignore.default.for.nullables"}
"""Those keys of all such converters that have to do with their formats."""
THOROUGH = settings(deadline=None, suppress_health_check=list(HealthCheck))


def plugins() -> Iterator[type[Any]]:
    """Yield the classes that the projects register, for a connector that of its tasks."""
    for project in sorted(ROOT.glob("*/pyproject.toml")):
        for section in re.split(r"^\[", project.read_text("utf-8"), flags=re.MULTILINE):
            if section.startswith('project.entry-points."hearth.'):
                for path in re.findall(r'^"[^"]+" = "(\w[\w.]*:\w+)"$', section, re.MULTILINE):
                    found = load_class(path)
                    yield found().task_class() if issubclass(found, Connector) else found


FOUND = sorted(set(plugins()), key=lambda kind: kind.__qualname__)
TRANSFORMATIONS: dict[str, list[type[Any]]] = {}
"""Those with two forms by their module: the variants for key and value share their code, and so a test."""
for each in FOUND:
    if issubclass(each, BatchTransformation):
        TRANSFORMATIONS.setdefault(each.__module__.rpartition(".")[2], []).append(each)


CHAINED = [kind for kind in FOUND if issubclass(kind, FieldPlugin) and not kind.__name__.endswith("Key")]
"""Those that change values without schema as columns."""


def all_of(base: type[Any]) -> pytest.MarkDecorator:
    """Run a test for each plugin found that derives from a class."""
    return pytest.mark.parametrize("kind", [kind for kind in FOUND if issubclass(kind, base)])


def configured(kind: type[Any], data: st.DataObject) -> Any:
    """Return a plugin with settings that its definition allows."""
    plugin = kind()
    config = data.draw(configurations(kind), label="settings")  # type: ignore[arg-type]  # a class has a hash
    config = {**(REGISTRY if issubclass(kind, RegistryConverter) else {}), **config}
    try:
        plugin.configure(
            {name: word for name, word in config.items() if word},
            *([False] if issubclass(kind, BatchConverter) else []),
        )
    except ConnectError:
        reject()  # settings that are wrong together
    return plugin


@cache
def configurations(kind: type[Any]) -> st.SearchStrategy[dict[str, str]]:
    """Return the settings that a plugin's definition allows."""
    of_registry = set(RegistrySettings.definition().keys if issubclass(kind, RegistryConverter) else ()) - OF_FORMATS
    keys = [key for key in kind().config().keys.values() if key.name not in of_registry]
    needed = {key.name: words(key) for key in keys if not key.has_default}
    rest = {key.name: words(key) for key in keys if key.has_default}
    return st.fixed_dictionaries(needed, optional=rest)


def words(key: ConfigKey) -> st.SearchStrategy[str]:
    """Return what a key may be, the names of fields above all; empty where nothing suits it."""
    listed = getattr(key.validator, "valid", ())
    allowed = [word for word in (*listed, *WORDS) if is_allowed(key, word)] or [""]
    return st.sampled_from([word for word in allowed if word in FIELDS] or allowed) | st.sampled_from(allowed)


def is_allowed(key: ConfigKey, word: str) -> bool:
    """Tell whether a word can be the value of a key."""
    try:
        key.check(key.parse(word))
    except ConnectError:
        return False
    return True


@pytest.mark.parametrize("kinds", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
@THOROUGH
@given(data=st.data(), batch=batches() | batches(unsound=True))
def test_transformations(kinds: list[type[BatchTransformation]], data: st.DataObject, batch: Batch) -> None:
    """The same records in the same order, and the same rows refused in the same words."""
    check_forms(configured(data.draw(st.sampled_from(kinds)), data), batch)


def read_maps(data: st.DataObject) -> Batch:
    """Draw JSON of schemaless objects with a few layouts, and read it."""
    shapes = data.draw(st.lists(ALIKE, min_size=1, max_size=4), label="shapes")
    texts = [plain_to_json(data.draw(st.one_of(shapes))).encode() for _ in range(data.draw(st.integers(2, 8)))]
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    (run,), failures = read(converter, pa.array(texts))
    assert not failures
    whole = pa.RecordBatch.from_arrays([run.column], ["value"])
    offsets = pa.array([json.dumps({"position": row}) for row in range(len(texts))])
    batch = Batch("topic", None, run.schema, whole, {"f": "x"}).with_columns(source_offset=offsets)
    return numbered(batch)


@pytest.mark.parametrize("few", [2, 9])
@pytest.mark.parametrize("is_compiled", [True, False])
@THOROUGH
@given(data=st.data())
def test_rows_of_one_layout_are_changed_as_single_ones(few: int, is_compiled: bool, data: st.DataObject) -> None:
    """Each step of a chain changes them so, whether enough of them share a layout, and whether code is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "FEW", few)
        if not is_compiled:
            patch.setattr(rewriting, "Rewriter", None)
            patch.setattr(rewriting, "Flattener", None)
            patch.setattr(map_members, "MemberIndex", None)
        through_a_chain(read_maps(data), data)


def through_a_chain(batch: Batch, data: st.DataObject) -> None:
    """Pass a batch from step to step."""
    for _ in range(3):
        step = configured(data.draw(st.sampled_from(CHAINED)), data)
        check_forms(step, batch)
        made = transformed(step, batch).batches
        check_texts(step, batch, made)
        if not made:
            return
        batch = made[0]


def check_texts(step: Any, batch: Batch, made: list[Batch]) -> None:
    """Check that values without schema are written as those of records are, in the same order of members."""
    texts: dict[int, str | None] = {}
    for part in made:
        if part.value_schema is None:
            texts |= dict(zip(part.column("row").to_pylist(), part.column("value").to_pylist()))
    for row, record in zip(batch.column("row").to_pylist(), records_of(batch)):
        if row in texts:
            value = step.apply(record).value
            assert texts[row] == (None if value is None else plain_to_json(value))


class Labelling(ExtractFieldValue):
    """Says in headers, timestamp and Kafka partition that a record was here."""

    def apply(self, record: R) -> R:
        """Extract the field and label the record."""
        headers = [*record.headers, Header("seen", STRING_SCHEMA, "yes")]
        return super().apply(record).new_record(kafka_partition=3, timestamp=4, headers=headers)

    def apply_batch(self, batch: Batch) -> Declined:
        """Leave batches to the records."""
        return NotImplemented


@THOROUGH
@given(batch=batches().filter(lambda batch: batch.value_schema is None))
def test_whatever_the_form_for_records_changes_is_changed(batch: Batch) -> None:
    """Where columns will not do the records are taken as a whole, not their keys and values alone."""
    transformation = Labelling()
    transformation.configure({"field": "a"})
    check_forms(transformation, batch)


@all_of(BatchPredicate)
@THOROUGH
@given(data=st.data(), batch=batches())
def test_predicates(kind: type[BatchPredicate], data: st.DataObject, batch: Batch) -> None:
    """The same answer for every record."""
    predicate = configured(kind, data)
    assert answered(predicate, batch) == ([predicate.test(record) for record in records_of(batch)], [])


@st.composite
def columns(draw: st.DrawFn) -> tuple[Schema | None, Any]:
    """Draw a column of values that share a schema or have none, perhaps cut out of a larger one."""
    schema = draw(st.none() | schemas())
    one = values(schema) if schema else draw(st.just(SCHEMALESS) | ALIKE)
    column = values_to_column(schema, draw(st.lists(one, min_size=1, max_size=5)))
    return schema, column.slice(draw(st.integers(0, len(column) - 1)))


@all_of(BatchConverter)
@THOROUGH
@given(data=st.data(), typed=columns())
def test_converters_that_write(kind: type[BatchConverter], data: st.DataObject, typed: tuple[Any, Any]) -> None:
    """The same bytes for every value, and the same refusals."""
    converter, (schema, column) = configured(kind, data), typed
    plain: list[bytes | None] = []
    refused = {}
    for row, value in enumerate(column_to_values(schema, column)):
        try:
            plain.append(converter.from_connect_data("t", schema, value))
        except DataError as error:
            plain.append(None)
            refused[row] = str(error)
    cells, failures = written(converter, schema, column)
    assert (cells.type, cells.to_pylist(), messages(failures)) == (pa.binary(), plain, refused)


@all_of(BatchConverter)
@THOROUGH
@given(data=st.data(), typed=columns(), garbage=st.lists(st.none() | st.binary(max_size=5), max_size=3))
def test_converters_that_read(
    kind: type[BatchConverter], data: st.DataObject, typed: tuple[Any, Any], garbage: list[bytes | None]
) -> None:
    """The same schema and value for all bytes, those it wrote as well as others, and the same rows refused."""
    converter, (schema, column) = configured(kind, data), typed
    given_bytes = data.draw(st.permutations([*written(converter, schema, column)[0].to_pylist(), *garbage]))
    plain = []
    refused = set()
    for row, cell in enumerate(given_bytes):
        try:
            found = converter.to_connect_data("t", cell)
            values_to_column(found.schema, [found.value])  # what no column can hold is refused as well
        except DataError:
            found = SchemaAndValue(None, None)
            refused.add(row)
        plain.append((found.schema, deep_key(found.value)))
    runs, failures = read(converter, pa.array(given_bytes, pa.binary()))
    made = enumerate(values_in_order(runs))  # a row that failed is a null of whichever schema
    assert [(None if row in refused else schema, deep_key(value)) for row, (schema, value) in made] == plain
    assert [failure.row for failure in first_of_each_row(failures)] == [failure.row for failure in failures]
    assert {failure.row for failure in failures} == refused


@all_of(BatchSourceTask)
@THOROUGH
@given(data=st.data())
def test_source_tasks(kind: type[Any], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same records with the same offsets from the same source."""
    by_records, by_batches = world(kind).polled(kind, data, tmp_path_factory.mktemp("polled"))
    assert by_batches == by_records


@all_of(BatchSinkTask)
@THOROUGH
@given(data=st.data())
def test_sink_tasks(kind: type[Any], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same content after the same records."""
    by_records, by_batches = world(kind).put(kind, data, tmp_path_factory.mktemp("put"))
    assert by_batches == by_records


def world(kind: type[Any]) -> Any:
    """Return the module that shows a task's two forms the same world."""
    bundle = kind.__module__.partition(".")[0].removeprefix("hearth_")
    return importlib.import_module(f"tests.unit.plugins.{bundle}.world")


def test_plugins_of_every_kind_are_found() -> None:
    """A search that finds nothing would pass every test above."""
    bases = (BatchTransformation, BatchPredicate, BatchConverter, BatchSourceTask, BatchSinkTask)
    assert [base for base in bases if not any(issubclass(kind, base) for kind in FOUND)] == []
    assert len(FOUND) > 15
