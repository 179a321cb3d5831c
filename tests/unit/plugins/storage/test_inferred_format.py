"""Maps without schema in Parquet and Avro: the schema of a file is that of all its rows, however they are cut."""

from __future__ import annotations

import io
import json
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import Schema, Type
from hearth_api.batch import values_to_column
from hearth_storage.format import inferred_format
from hearth_storage.format.avro import AvroFormat
from hearth_storage.format.format import FileFormat
from hearth_storage.format.inferred_format import InferredFormat
from hearth_storage.format.inferred_schema import (
    MOST_LEVELS,
    InferredSchema,
    _kind,
    _levelled,
    _shape,
    kind_of,
    merged,
)
from hearth_storage.format.parquet import ParquetFormat
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.sink.store_sink import FilesSinkConnector
from tests.unit.plugins.storage.test_format import read, written
from tests.unit.plugins.storage.world import committed, in_groups, local_run, local_settings, names, record

_NAMES = st.sampled_from(("a", "b", "a-b", "a_b", "1", "é", ""))
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
    | st.sampled_from(("2026-11-28", "2026-11-28T10:00:00Z", "\ud800"))
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=6
)
MAPS = st.dictionaries(_NAMES, _VALUES, max_size=4)


def rows_of(data: bytes) -> list[Any]:
    """Return the rows of a Parquet file, as Arrow reads them."""
    return list(pq.read_table(io.BytesIO(data)).to_pylist())


def file_of(format_: FileFormat, columns: list[Any]) -> bytes:
    """Return a file of columns of JSON texts."""
    out = io.BytesIO()
    writer = InferredFormat(format_).writer(out, None)
    for each in columns:
        writer.write(each)
    writer.close()
    return out.getvalue()


def parquet(*rows: Any) -> list[Any]:
    """Return the rows of a Parquet file of maps."""
    return rows_of(written(InferredFormat(ParquetFormat({})), None, list(rows)))


def fields(schema: Schema) -> dict[str, Type]:
    """Return the names and types of a struct's fields, which are all optional."""
    assert all(each.schema.optional for each in schema.fields)
    return {each.name: each.schema.type for each in schema.fields}


def test_each_member_is_an_optional_field() -> None:
    """Structs and lists too; texts that look like times stay texts."""
    row = {"i": 1, "d": 1.5, "s": "2026-11-28T10:00:00Z", "b": True, "o": {"x": [1, None]}, "l": [{"y": "z"}]}
    schema = InferredSchema(kind_of(values_to_column(None, [row]))).schema
    assert fields(schema) == {
        "i": Type.INT64, "d": Type.FLOAT64, "s": Type.STRING, "b": Type.BOOLEAN, "o": Type.STRUCT, "l": Type.ARRAY,
    }  # fmt: skip
    assert parquet(row) == [row]


def test_a_later_row_widens_the_file() -> None:
    """A new member is null before; integers become doubles; two kinds become texts, a text as it is."""
    found = parquet({"n": 1, "t": 1}, {"n": 2.5, "t": "a"}, {"t": {"x": [1]}, "new": True}, {"t": None})
    assert found == [
        {"n": 1.0, "t": "1", "new": None}, {"n": 2.5, "t": "a", "new": None},
        {"n": None, "t": '{"x":[1]}', "new": True}, {"n": None, "t": None, "new": None},
    ]  # fmt: skip


def test_members_without_any_value_are_left_out() -> None:
    """So that a later file may have them with their type; a file of nothing else has them as strings."""
    assert parquet({"a": 1, "b": None, "c": [], "d": {}, "e": {"f": [None]}}) == [{"a": 1}]
    assert parquet({"a": None}, {}) == [{"a": None}, {"a": None}]
    assert parquet({}, {}) == [{"value": None}] * 2


def test_names_are_those_that_avro_allows() -> None:
    """Equal ones get a number."""
    assert parquet({"a-b": 1, "a_b": 2, "2x": 3, "": {"ü": 4}}) == [{"a_b": 1, "a_b_2": 2, "_2x": 3, "_": {"_": 4}}]


def test_what_is_too_deep_is_text() -> None:
    """Parquet has limits."""
    value: Any = 1
    for _ in range(MOST_LEVELS + 30):
        value = {"a": value}
    (found,) = parquet(value)
    for _ in range(MOST_LEVELS):
        found = found["a"]
    assert json.loads(found)["a"]


@given(st.lists(MAPS, min_size=1, max_size=12), st.integers(0, 12))
def test_a_schema_follows_from_the_rows(rows: list[Any], cut: int) -> None:
    """However they are cut, by Arrow's reader or by Python values; every format takes it and keeps all rows."""
    texts = pa.array([json.dumps(row) for row in rows])
    parts = [part for part in (texts.slice(0, cut), texts.slice(cut)) if len(part)]
    whole = kind_of(texts)
    assert merged(kind_of(parts[0]), kind_of(parts[-1])) == whole
    clean = [json.loads(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")) for row in rows]
    assert reduce(merged, [_levelled(_kind(_shape(row))) for row in clean], pa.struct([])) == whole
    files = [file_of(format_, part) for format_ in (ParquetFormat({}), AvroFormat({})) for part in ([texts], parts)]
    assert files[0] == files[1]
    assert len(rows_of(files[0])) == len(rows)
    for each in files[2:]:
        schemas, found = read(AvroFormat({}), each)
        assert schemas == {InferredSchema(whole).schema}
        assert len(found) == len(rows)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9) | st.lists(st.text("xyz"), min_size=1)),
                min_size=1))  # fmt: skip
def test_no_value_is_lost(rows: list[Any]) -> None:
    """Each is a value of its type, or a text of it."""
    for row, found in zip(rows, parquet(*rows)):
        for name, value in row.items():
            assert found[name] in (value, str(value), json.dumps(value, separators=(",", ":")))


def test_rows_of_a_large_file_wait_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the last one is there; a file that is given up leaves nothing."""
    monkeypatch.setattr(inferred_format, "_IN_MEMORY", 100)
    rows = [{"a": number, f"n{number % 7}": "x" * 20} for number in range(100)]
    found = parquet(*rows)
    assert [{name: each for name, each in row.items() if each is not None} for row in found] == rows
    writer = InferredFormat(ParquetFormat({})).writer(io.BytesIO(), None)
    writer.write(values_to_column(None, rows))
    assert writer.size > 1000


@pytest.mark.parametrize("columns", [True, False])
def test_files_follow_from_offsets(tmp_path: Path, columns: bool) -> None:
    """Whatever the size of puts, each file has the same schema and rows."""
    values = [{"id": at, **({"note": "n"} if at == 7 else {}), "price": 1 if at < 4 else 2.5} for at in range(12)]
    records = [record(at, None, value) for at, value in enumerate(values)]
    found = []
    for size in (1, 5, 12):
        folder = tmp_path / str(size)
        folder.mkdir()
        more: dict[str, Any] = {"format_class": "ParquetFormat", "flush_size": "6", "schema_inference_enable": "true"}
        with local_run(folder, columns, **more) as run:
            for group in in_groups(records, size):
                run.put(group)
            assert committed(run, 12)
        place = LocalPlace(folder)
        found.append({name: pq.read_table(io.BytesIO(place.read(name))) for name in names(place)})
    assert found[0] == found[1] == found[2]
    first, second = found[0].values()
    assert first.schema.names == ["id", "price"]
    assert first["price"].to_pylist() == [1.0] * 4 + [2.5] * 2
    assert second.select(["id", "note"]).slice(0, 2).to_pylist() == [{"id": 6, "note": None}, {"id": 7, "note": "n"}]


@pytest.mark.parametrize("columns", [True, False])
def test_a_value_that_is_no_map_is_reported(tmp_path: Path, columns: bool) -> None:
    """Its neighbours are written."""
    more: dict[str, Any] = {"format_class": "ParquetFormat", "flush_size": "2", "schema_inference_enable": "true"}
    with local_run(tmp_path, columns, **more) as run:
        run.put([record(at, None, value) for at, value in enumerate(({"a": 1}, [1], {"a": 2}))])
        assert committed(run, 3)
        ((failed, error),) = run.reporter.reported
        assert failed.kafka_offset == 1
        assert "is no map" in str(error)


def test_without_the_key_parquet_refuses_maps(tmp_path: Path) -> None:
    """As Java's sink."""
    with local_run(tmp_path, format_class="ParquetFormat") as run:
        run.put([record(0, None, {"a": 1})])
        ((_, error),) = run.reporter.reported
        assert "Parquet files hold structs, not values without schema" in str(error)


def test_a_format_without_schemas_needs_no_inference(tmp_path: Path) -> None:
    """The key is refused, with the reason."""
    config = local_settings(tmp_path, schema_inference_enable="true")
    (faults,) = [each.error_messages for each in FilesSinkConnector().validate(config).values if each.error_messages]
    assert faults == ["has no effect on JsonFormat, whose files have no schema: leave it out"]
