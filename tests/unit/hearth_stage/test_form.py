"""Forms and codecs: one side reads what the other writes, and rejects everything else."""

from __future__ import annotations

import dataclasses
import json
import typing
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.link.link_call import TO_HOST, TO_TASK, Admitted, Introduce
from hearth_api import OPTIONAL_BYTES_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Header, Headers, TopicPartition
from hearth_api.batch import Batch, ColumnRun, headers_to_column
from hearth_execution.failure import MESSAGE_CHARACTERS, ErrorInfo, Failure
from hearth_execution.order import are_numbered_together
from hearth_execution.raw_header import raw_column
from hearth_execution.transformation import Outcome, Step
from hearth_stage.call import Call, decoded, encoded
from hearth_stage.connector_call import StartConnector, TaskConfigs
from hearth_stage.conversion_call import (
    Cells,
    Deserialize,
    Deserialized,
    DeserializedHeaders,
    DeserializeHeaders,
    HeadersByRow,
    Serialize,
    Serialized,
    SerializedHeaders,
    SerializeHeaders,
    WireBytes,
    WireCells,
    WireHeaders,
    WireRun,
)
from hearth_stage.extension_call import WireBody
from hearth_stage.form import Codec, codec_of, form_of
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.operation import FROM_STAGE, TO_STAGE
from hearth_stage.plugin_call import Load, Validate, Validated, WantedPlugin
from hearth_stage.task_call import Group, HandOver, Offsets, Polled, StartSink, StartSource
from hearth_stage.transformation_call import AskPredicate, WireMask

MESSAGES = list(
    dict.fromkeys(kind for known in (TO_STAGE.all(), FROM_STAGE.all(), TO_HOST, TO_TASK) for kind in known.values())
)
REPLIES = [kind.reply for kind in MESSAGES if issubclass(kind, Call) and kind.reply is not type(None)]
KINDS = [*MESSAGES, *REPLIES]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
RAW = st.lists(st.tuples(st.text(), st.none() | st.binary()), max_size=2)


def batch(values: list[str]) -> Batch:
    """Return a numbered batch of texts."""
    columns = [pa.array(values, pa.string()), pa.array(range(len(values)), pa.int32())]
    return Batch("t", None, STRING_SCHEMA, pa.RecordBatch.from_arrays(columns, names=["value", "row"]))


def rows(values: list[str], *numbers: int) -> Batch:
    """Return a batch of texts with these row numbers."""
    return batch(values).with_columns(row=pa.array(numbers, pa.int32()))


def headers(names: list[str]) -> Any:
    """Return a headers column, one header per row."""
    return headers_to_column([Headers([Header(name, OPTIONAL_STRING_SCHEMA, name)]) for name in names])


def marks(kind: Any) -> Any:
    """Return a hashable key of an annotated type: its type hints may be distinct objects."""
    return kind.__metadata__


def cells(values: list[str]) -> Cells:
    """Return texts, each with its row number."""
    run = ColumnRun(STRING_SCHEMA, pa.array(values, pa.string()))
    return Cells({"key": run, "value": run}, np.arange(len(values)))


TEXTS = st.lists(st.text(), max_size=3)
SPECIAL: dict[Any, st.SearchStrategy[Any]] = {
    Any: JSON,
    Batch: TEXTS.map(batch),
    ErrorInfo: st.builds(ErrorInfo, *[st.text()] * 4),
    int: NUMBERS,
    float: NUMBERS | st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(),
    bool: st.booleans(),
}
TRAVELLING: dict[Any, st.SearchStrategy[Any]] = {
    marks(WireBody): st.binary(max_size=9),
    marks(WireCells): TEXTS.map(cells),
    marks(WireBytes): st.lists(st.none() | st.binary(), max_size=3).map(
        lambda each: {"value": pa.array(each, pa.binary())}
    ),
    marks(WireRun): TEXTS.map(lambda texts: ColumnRun(STRING_SCHEMA, pa.array(texts, pa.string()))),
    marks(WireHeaders): TEXTS.map(headers),
    marks(WireMask): st.lists(st.booleans(), max_size=3).map(lambda each: pa.array(each, pa.bool_())),
    marks(HeadersByRow): st.dictionaries(st.integers(0, 9), RAW, max_size=3),
    marks(Offsets): st.dictionaries(st.builds(TopicPartition, st.text(), NUMBERS), NUMBERS, max_size=3),
}


@cache
def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a type; cached, because hypothesis inspects every new strategy."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return TRAVELLING[marks(kind)]
    if kind in SPECIAL:
        return SPECIAL[kind]
    if origin in (Union, UnionType):
        return st.one_of(*(st.none() if part is type(None) else values_of(part) for part in parts))
    if origin is list:
        return st.lists(values_of(parts[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(values_of(parts[0]), values_of(parts[1]), max_size=3)
    if origin is tuple:
        return st.tuples(*map(values_of, parts))
    hints = typing.get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        own: Any = kind
        return st.builds(own, **{each.name: values_of(hints[each.name]) for each in dataclasses.fields(kind)})
    return st.builds(kind, *map(values_of, hints.values()))


@cache
def members_of(kind: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Return something for each member of a type, or for some of them."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(codec_of(kind).members, JSON))


def plain(value: Any) -> Any:
    """Return a value in comparable form."""
    if isinstance(value, Batch):
        return value.topic, value.value_schema, value.data.to_pydict()
    if dataclasses.is_dataclass(value):
        return type(value), {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, (pa.Array, np.ndarray)):
        return value.tolist() if isinstance(value, np.ndarray) else value.to_pylist()
    return [plain(each) for each in value] if type(value) is list else value


def sent(kind: type[Any], value: Any) -> Any:
    """Return a value after a round trip: members as JSON, batches as Arrow."""
    members, batches = encoded(value)
    text = json.dumps(members, allow_nan=False)
    return decoded(kind, json.loads(text), [Batch.from_arrow(each.to_arrow()) for each in batches])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read(kind: Any, data: st.DataObject) -> None:
    """Every message and every reply survives a frame unchanged."""
    value = data.draw(values_of(kind))
    assert plain(sent(kind, value)) == plain(value)


@pytest.mark.parametrize(
    "kind", [*FROM_STAGE.all().values(), *TO_HOST.values(), *REPLIES], ids=lambda kind: kind.__name__
)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_value_of_another_type_is_rejected(kind: Any, data: st.DataObject) -> None:
    """Any other value is a ``ValueError``, or a valid message that can be written again."""
    codec = codec_of(kind)
    members = data.draw(members_of(kind))
    with suppress(ValueError):
        value = decoded(kind, members, [batch(["a"])] * len(codec.bodies))
        assert plain(sent(kind, value)) == plain(value)


@pytest.mark.parametrize(
    "message",
    [
        Validate("r", {"password": "sesame"}),
        Validated(values=[{"value": "sesame"}]),
        Load([WantedPlugin("r", "c", "r", {"password": "sesame"})]),
        StartSource("r", {"password": "sesame"}),
        StartSink("r", {"password": "sesame"}),
        StartConnector({"password": "sesame"}),
        TaskConfigs([{"password": "sesame"}]),
        Introduce("task", "sesame"),
        Admitted({"password": "sesame"}),
    ],
)
def test_repr_of_messages_shows_no_settings(message: Any) -> None:
    """Logs, traces and debuggers print objects; plugin and client settings may be secret."""
    assert "sesame" in json.dumps(encoded(message)[0])
    assert "sesame" not in repr(message)


class Pair(NamedTuple):
    """Two values."""

    name: str
    number: int


@dataclass(frozen=True)
class Sample:
    """A member of every kind."""

    text: str
    number: int = 0
    share: float = 0.0
    is_so: bool = False
    maybe: str | None = None
    texts: list[str] = field(default_factory=list)
    config: dict[str, str] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    names: tuple[str, ...] = ()
    step: Step | None = None


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({}, "'text' is missing"),
        ({"text": None}, "'text': None is not text"),
        ({"number": True}, "'number': True is not a whole number"),
        ({"number": 1.0}, "'number': 1.0 is not a whole number"),
        ({"number": 1 << 63}, "'number': a whole number of more than 64 bits"),
        ({"share": "1"}, "'share': '1' is not a number"),
        ({"is_so": 1}, "'is_so': 1 is not true or false"),
        ({"is_so": None}, "'is_so': None is not true or false"),
        ({"maybe": 5}, "'maybe': 5 is not text"),
        ({"texts": "ab"}, "'texts': 'ab' is not a list"),
        ({"texts": ["a", 5]}, "'texts': 5 is not text"),
        ({"config": ["a"]}, r"'config': \['a'\] is not an object"),
        ({"config": {"a": None}}, "'config': None is not text"),
        ({"pairs": [["a"]]}, "'pairs': 1 values, expected 2"),
        ({"names": "ab"}, "'names': 'ab' is not a list"),
        ({"step": {"negate": True}}, "'step': 'role' is missing"),
        ({"text": ["x" * 1000]}, r"'text': .{100,250} is not text"),
    ],
)
def test_malformed_member_is_named_with_the_reason(members: dict[str, Any], says: str) -> None:
    """Briefly, however long the value is."""
    given_members = members if "text" in members or not members else {"text": "t", **members}
    with pytest.raises(ValueError, match=rf"(?s)^{says}$"):
        codec_of(Sample).decode(given_members, [])


def test_missing_members_get_defaults_and_unknown_ones_are_ignored() -> None:
    """So a later version may add members, and an earlier one omit them."""
    assert codec_of(Sample).decode({"text": "t", "later": 1, "step": {"role": "r", "later": 1}}, []) == Sample(
        "t", step=Step("r")
    )


def test_member_with_its_default_is_not_written() -> None:
    """Most members have their defaults."""
    assert codec_of(Sample).write(Sample("t")) == {"text": "t"}
    assert codec_of(Sample).write(Sample("", number=1, step=Step("r", "p"))) == {
        "text": "",
        "number": 1,
        "step": {"role": "r", "predicate": "p"},
    }


def test_values_do_not_share_a_default() -> None:
    """Values that were read share nothing."""
    first, second = codec_of(Sample).read({"text": "t"}), codec_of(Sample).read({"text": "t"})
    assert first.texts is not second.texts


def test_steps_are_read_from_a_request() -> None:
    """Missing members get their defaults; members of a later protocol are ignored."""
    forms: list[dict[str, Any]] = [
        {"role": "transforms.a"},
        {"role": "transforms.b", "predicate": "predicates.p", "negate": True, "later": 1},
    ]
    assert form_of(list[Step]).read(forms) == [Step("transforms.a"), Step("transforms.b", "predicates.p", True)]


def test_failure_round_trips_through_json() -> None:
    """A record's failure keeps row, phase, class and error."""
    failure = Failure(3, "VALUE_CONVERTER", "c", ErrorInfo("data", "e", "m", "t"))
    codec = codec_of(Failure)
    assert codec.read(json.loads(json.dumps(codec.write(failure)))) == failure


def test_reader_cuts_texts_of_a_failure() -> None:
    """The reader applies its own limits."""
    error = {"kind": "data", "class_name": "e", "message": "m" * 1_000_000, "trace": "t"}
    read = codec_of(Failure).read({"row": 1, "phase": "p", "class_name": "c", "error": error})
    assert len(read.error.message) <= MESSAGE_CHARACTERS


def test_type_without_a_form_is_found_before_sending() -> None:
    """It is a mistake in the declaration of a call."""

    @dataclass(frozen=True)
    class Wrong:
        """Has a member that no frame can hold."""

        numbers: set[int]

    with pytest.raises(TypeError, match="has no form in a frame"):
        Codec(Wrong)


def test_missing_body_is_named() -> None:
    """A call that requires records but has none is malformed."""
    with pytest.raises(ValueError, match="the body of 'batch' is missing"):
        decoded(AskPredicate, {"role": "predicates.p"}, [])


def test_body_without_its_column_is_refused() -> None:
    """Its rows would have no values."""
    nothing = Batch(None, None, None, pa.RecordBatch.from_arrays([pa.array([0], pa.int32())], names=["row"]))
    with pytest.raises(ValueError, match="lacks the column 'value'"):
        decoded(Deserialized, {"counts": [1]}, [nothing])


TWO = Cells({"value": ColumnRun(OPTIONAL_BYTES_SCHEMA, pa.array([b"a", b"b"]))}, np.arange(2))
VALUE = ["value.converter"]
TEXT = pa.array(["a"])


@pytest.mark.parametrize(
    ("call", "reply", "says"),
    [
        (
            Serialize(VALUE, "t", TWO),
            Serialized({"value": pa.array([b"a"])}),
            "value.converter: the stage returned 1 of binary for 2 cells",
        ),
        (Serialize(VALUE, "t", TWO), Serialized({"value": pa.array(["a", "b"])}), "2 of string for 2 cells"),
        (Serialize(VALUE, "t", TWO), Serialized({"key": pa.array([b"a", b"b"])}), "returned nothing for 2 cells"),
        (
            Deserialize(VALUE, "t", TWO),
            Deserialized([3], [ColumnRun(None, TEXT)] * 3),
            "a row twice, or one outside",
        ),
        (Deserialize(VALUE, "t", TWO), Deserialized([1, 1], [ColumnRun(None, TEXT)] * 2), r"of \[1, 1\] for 1 col"),
        (Deserialize(VALUE, "t", TWO), Deserialized([2], [ColumnRun(None, TEXT)] * 3), r"3 runs of \[2\] for 1 col"),
        (Deserialize(VALUE, "t", TWO), Deserialized([-1], [ColumnRun(None, TEXT)] * 2), "islice"),
        (SerializeHeaders("t", batch(["a"])), SerializedHeaders(raw_column([[], []])), "answers for 2 of 1 rows"),
        (SerializeHeaders("t", batch(["a"])), SerializedHeaders(headers(["a"])), "the headers column has type list"),
        (
            Serialize(VALUE, "t", TWO),
            Serialized({"value": pa.array([b"a", b"b"])}, headers={2: []}),
            "headers outside the 2 cells",
        ),
        (
            DeserializeHeaders("t", raw_column([[], []])),
            DeserializedHeaders(headers(["a"])),
            "answers for 1 of 2 rows",
        ),
        (ReadOffsets([{}]), StoredOffsets([]), "0 offsets for 1 partitions"),
    ],
)
def test_reply_that_does_not_fit_its_call_is_rejected(call: Call[Any], reply: Any, says: str) -> None:
    """Columns match by position, so a shorter or longer one would belong to other records (invariant 3)."""
    with pytest.raises(ValueError, match=says):
        call.verify(reply)


def test_hand_over_survives_a_round_trip() -> None:
    """Polled batches, and the results of the stage's own steps; without steps a batch is its own result."""
    failures = [Failure(0, "TRANSFORMATION", "c", ErrorInfo("data", "e", "m", "t"))]
    stepped = Polled([batch(["b", "c"])], Outcome([batch(["B"])], failures))
    mixed = Polled([rows(["x", "z"], 0, 2), rows(["y"], 1)])
    polled = [Polled([batch(["a"])]), stepped, Polled([batch(["d"])], Outcome()), mixed]
    handed = HandOver.of(polled)
    assert handed.groups == [Group(1), Group(1, 1, failures), Group(1, 0), Group(2)]
    assert [plain(each) for each in sent(HandOver, handed).polled()] == [plain(each) for each in polled]
    assert plain(polled[0].results) == plain([batch(["a"])])


@pytest.mark.parametrize(
    ("polled", "results", "wanted"), [(3, None, 3), (0, None, 0), (-1, None, -1), (1, 2, 2), (1, -1, -1)]
)
def test_hand_over_without_all_batches_is_rejected(polled: int, results: int | None, wanted: int) -> None:
    """A record that is announced but missing would be lost (invariant 3)."""
    handed = HandOver([Group(polled, results)], [batch(["a"]), batch(["b"])])
    with pytest.raises(ValueError, match=rf"a hand-over of {wanted} batches"):
        list(handed.polled())


@pytest.mark.parametrize("numbers", [(0, 1), (0, 0), (1, 2), (2, 1)])
def test_rows_not_numbered_across_batches_are_rejected(numbers: tuple[int, int]) -> None:
    """A number at two rows would give one the other's position."""
    batches = [rows(["a"], 0), rows(["b", "c"], *numbers)]
    assert are_numbered_together(batches) == (numbers == (1, 2))
    with nullcontext() if numbers == (1, 2) else pytest.raises(ValueError, match="are not numbered across them"):
        list(HandOver([Group(2)], batches).polled())
