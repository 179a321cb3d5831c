"""What registries answer, held by all of them: one in memory, one over HTTP, and what is remembered of either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from hearth_registry.cached_registry import CachedRegistry
from hearth_registry.http_registry import HttpRegistry
from hearth_registry.known_schema import MOST_REFERENCES, parsed
from hearth_registry.memory_registry import MemoryRegistry
from hearth_registry.registry import LATEST, RegisteredSchema, Registry, RegistryRefusal
from hearth_registry.registry_request import RegistryRequests, RetryBudget
from hearth_registry.schema_format import FormatSchema, PayloadError
from hearth_registry.schema_text import AVRO, JSON, Reference, SchemaText
from tests.registry_server import serving
from tests.unit.plugins.registry.toy import ToyFormat

KINDS = ["memory", "http", "cached"]


def against(_subject: str, schema: SchemaText, before: list[SchemaText]) -> list[str]:
    """Allow texts that are longer than all before."""
    return [f"shorter than {each.text}" for each in before if len(each.text) > len(schema.text)]


@pytest.fixture
def memory() -> MemoryRegistry:
    """Return a registry that judges."""
    return MemoryRegistry(against)


@pytest.fixture(params=KINDS)
def registry(request: pytest.FixtureRequest, memory: MemoryRegistry) -> Iterator[Registry]:
    """Return a registry of each kind, all of which answer from the same memory."""
    if request.param == "http":
        with serving(memory) as server:
            yield HttpRegistry(RegistryRequests([server.url], retry_budget=RetryBudget(0)))
    else:
        yield CachedRegistry(memory) if request.param == "cached" else memory


def refused(error_code: int) -> pytest.RaisesExc[RegistryRefusal]:
    """Expect a no with this code."""
    return pytest.raises(RegistryRefusal, match=f"; error code: {error_code}$")


def test_a_schema_has_one_id_everywhere_and_a_version_in_each_subject(registry: Registry) -> None:
    """Registering twice changes nothing; type and references belong to a schema, and so a slash to a subject."""
    one, other = SchemaText(AVRO, '{"größe":1}'), SchemaText(JSON, '{"größe":1}')
    first = registry.register("a/b", one)
    assert (first.schema_id, first.version, first.text) == (1, 1, one)
    assert registry.register("a/b", one) == first
    assert registry.register("c", one).schema_id == 1
    assert registry.register("c", other).schema_id == 2
    assert registry.look_up("c", other) == registry.by_version("c", 2) == registry.by_version("c", LATEST)
    assert registry.by_id(2, "c").text == other
    assert first.guid is not None
    assert registry.by_guid(first.guid).text == one


def test_names_and_texts_may_have_half_a_letter(registry: Registry) -> None:
    """A surrogate alone, which Java sends as a question mark."""
    found = registry.register("s\ud800", SchemaText(AVRO, '"\ud800"'))
    assert found.schema_id == 1


def test_a_missing_entry_is_refused_with_its_code(registry: Registry, memory: MemoryRegistry) -> None:
    """Deleted versions are returned on request."""
    schema = SchemaText(AVRO, "x")
    with refused(40401):
        registry.look_up("s", schema)
    with refused(40401):
        registry.by_version("s", LATEST)
    with refused(40403):
        registry.by_id(1, None)
    registry.register("s", schema)
    with refused(40403):
        registry.look_up("s", SchemaText(AVRO, "y"))
    with refused(40402):
        registry.by_version("s", 7)
    memory.delete_subject("s")
    with refused(40401):
        registry.look_up("s", schema)
    assert registry.look_up("s", schema, deleted=True).version == 1
    assert registry.by_version("s", 1, deleted=True).text == schema


def test_an_incompatible_schema_is_refused(registry: Registry, memory: MemoryRegistry) -> None:
    """The compatibility check reports it beforehand."""
    assert registry.incompatibilities("s", SchemaText(AVRO, "x")) == []
    registry.register("s", SchemaText(AVRO, "long"))
    assert registry.incompatibilities("s", SchemaText(AVRO, "x")) == ["shorter than long"]
    assert registry.compatibility("s") == "BACKWARD"
    with refused(40901):
        registry.register("s", SchemaText(AVRO, "x"))
    memory.is_read_only = True
    with refused(42205):
        registry.register("s", SchemaText(AVRO, "longer"))


def test_metadata_and_associations_are_found(registry: Registry, memory: MemoryRegistry) -> None:
    """The latest version that carries all that is asked for."""
    for text, properties in [("x", {"k": "1"}), ("xx", {"k": "1", "l": "a b&c"}), ("xxx", {"k": "2"})]:
        memory.register("s", SchemaText(AVRO, text, metadata={"properties": properties}))
    assert registry.by_metadata("s", {"k": "1", "l": "a b&c"}).version == 2
    with refused(40403):
        registry.by_metadata("s", {"k": "3"})
    memory.associations["t/1", True] = ["own"]
    assert registry.associated_subjects("-", "t/1", True) == ["own"]
    assert registry.associated_subjects("-", "t/1", False) == []


def test_references_are_followed_and_their_number_is_bounded() -> None:
    """A text that refers to itself ends, and so does one that refers to more and more."""
    memory = MemoryRegistry()
    for number in range(3):
        others = (Reference(f"n{number - 1}", f"s{number - 1}", 1),) if number else (Reference("n0", "s0", 1),)
        memory.register(f"s{number}", SchemaText(AVRO, f"t{number}", others))
    seen = []

    class Format(ToyFormat):
        def parse(self, text: SchemaText, references: Mapping[str, str]) -> FormatSchema:
            seen.append((text.text, references))
            return super().parse(text, references)

    parsed(Format(), memory, memory.by_version("s2", 1))
    assert seen == [("t2", {"n1": "t1", "n0": "t0"})]
    many = tuple(Reference(f"m{number}", "s0", 1) for number in range(MOST_REFERENCES + 1))
    with pytest.raises(PayloadError, match="more than 1000 others"):
        parsed(Format(), memory, RegisteredSchema(1, text=SchemaText(AVRO, "x", many)))


@pytest.mark.parametrize(
    "answer",
    ["null", "[]", '"x"', "7", '{"id":"x"}', '{"id":-1}', '{"id":4294967296}', '{"id":1,"references":7,"schema":""}'],
)
def test_invalid_answers_are_refusals(answer: str) -> None:
    """No answer of a registry raises another error."""
    with serving() as server:
        server.fault = lambda _method, _path: (200, answer.encode())
        registry = HttpRegistry(RegistryRequests([server.url], retry_budget=RetryBudget(0)))
        with refused(50005):
            registry.register("s", SchemaText(AVRO, "x"))
        with refused(50005):
            registry.compatibility("s")
