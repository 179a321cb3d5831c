"""References by which a struct schema contains itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from threading import local
from types import MappingProxyType
from typing import Any, ClassVar

from hearth_api.errors import DataError
from hearth_api.schema import Field, Schema, Type, deep_key
from hearth_api.struct_layout import StructLayout


class RecursiveStruct:
    """The struct schema that references point to, set once it is built, and a pair of schemas last found equal."""

    __slots__ = ("equal", "schema")

    def __init__(self) -> None:
        """Start without a struct."""
        self.schema: Schema | None = None
        self.equal: tuple[Schema, Schema] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the struct as a finite tree."""
        return _unpickled, (None if self.schema is None else _to_tree(self.schema, Numbers(self.schema)),)


MOST_LEVELS = 63
"""The maximum nesting of types: Arrow IPC neither writes nor reads more."""
_Pair = tuple[RecursiveStruct, Schema, Schema]


class _Comparing(local):
    """The pairs of structs that a thread is comparing."""

    def __init__(self) -> None:
        self.pairs: list[_Pair] = []
        self.seen: set[tuple[int, int]] = set()

    def add(self, recursive_struct: RecursiveStruct, one: Schema, other: Schema) -> None:
        """Add a pair once."""
        if (id(one), id(other)) not in self.seen:
            self.seen.add((id(one), id(other)))
            self.pairs.append((recursive_struct, one, other))

    def end(self) -> list[_Pair]:
        """Remove and return all pairs."""
        found, self.pairs = self.pairs, []
        self.seen.clear()
        return found


_comparing = _Comparing()


class SchemaReference(Schema):
    """The schema of a struct inside itself, such as that of the next node in the schema of a node.

    It has the fields, the name and all other attributes of the struct it refers to, except for its own optionality and
    additional parameters. `SchemaBuilder.itself` creates it. A struct in that place has the reference as its schema:
    `Struct(node.field("next").schema)`. Two references are equal if the structs are, ignoring their optionality,
    versions, docs and defaults.
    """

    __slots__ = ("_own", "_recursive_struct")

    is_reference: ClassVar[bool] = True
    type = Type.STRUCT
    _key_schema = _value_schema = _kind = _most = None
    _least = _levels = 0
    _is_lasting = False

    def __init__(
        self, recursive_struct: RecursiveStruct, optional: bool, parameters: Mapping[str, str] | None = None
    ) -> None:
        """Refer to a struct, which may not be built yet; the parameters are additional to the struct's."""
        put = object.__setattr__
        put(self, "_recursive_struct", recursive_struct)
        put(self, "optional", optional)
        put(self, "_own", dict(parameters or {}))

    @property
    def target(self) -> Schema:
        """Return the struct; raise a DataError before it is built."""
        target: Schema | None = self._recursive_struct.schema  # type: ignore[attr-defined]
        if target is None:
            raise DataError("a recursive struct schema has no fields before it is built")
        return target

    @property
    def recursive_struct(self) -> RecursiveStruct:
        """Return the object shared by all references to one struct."""
        recursive_struct: RecursiveStruct = self._recursive_struct  # type: ignore[attr-defined]
        return recursive_struct

    @property
    def own_parameters(self) -> dict[str, str]:
        """Return the additional parameters, without the struct's."""
        own: dict[str, str] = self._own  # type: ignore[attr-defined]
        return own

    @property
    def name(self) -> str | None:  # type: ignore[override]
        """Return the struct's name."""
        return self.target.name

    @property
    def version(self) -> int | None:  # type: ignore[override]
        """Return the struct's version."""
        return self.target.version

    @property
    def doc(self) -> str | None:  # type: ignore[override]
        """Return the struct's documentation."""
        return self.target.doc

    @property
    def default(self) -> Any:
        """Return the struct's default."""
        return self.target.default

    @property
    def parameters(self) -> Mapping[str, str] | None:  # type: ignore[override]
        """Return the struct's parameters and the additional ones."""
        both = {**(self.target.parameters or {}), **self.own_parameters}
        return MappingProxyType(both) if both else None

    @property
    def _fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return self.target._fields

    @property
    def _by_name(self) -> dict[str, Field]:  # type: ignore[override]
        return self.target._by_name

    @property
    def _layout(self) -> StructLayout | None:  # type: ignore[override]
        return self.target._layout

    def replaced(self, **parts: Any) -> Schema:
        """Return a reference if it can hold the changed parts, else the struct with them."""
        if parts.keys() <= {"optional"}:
            return SchemaReference(self.recursive_struct, parts.get("optional", self.optional), self.own_parameters)
        inherited = {"optional": self.optional, "parameters": self.parameters}
        return self.target.replaced(**{**inherited, **parts})

    def with_parameters(self, parameters: Mapping[str, str]) -> SchemaReference:
        """Return the reference with additional parameters."""
        return SchemaReference(self.recursive_struct, self.optional, {**self.own_parameters, **parameters})

    def __eq__(self, other: object) -> bool:
        """Compare its own attributes, and the names, parameters and fields of the structs."""
        if self is other:
            return True
        if not isinstance(other, SchemaReference):
            return False
        if self.optional != other.optional or self.own_parameters != other.own_parameters:
            return False
        return self.recursive_struct is other.recursive_struct or _are_equal(
            self.recursive_struct, self.target, other.target
        )

    def __hash__(self) -> int:
        """Return a hash of the optionality alone, since a struct may be hashed before it is complete."""
        return hash((SchemaReference, self.optional))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy with the shared RecursiveStruct, which a pickle contains once for all references."""
        return SchemaReference, (self.recursive_struct, self.optional, self.own_parameters)


def _are_equal(recursive_struct: RecursiveStruct, one: Schema, other: Schema) -> bool:
    """Compare two structs, and all pairs found on the way, each once, iteratively."""
    if recursive_struct.equal is not None and recursive_struct.equal[0] is one and recursive_struct.equal[1] is other:
        return True
    is_first = not _comparing.pairs
    _comparing.add(recursive_struct, one, other)
    if not is_first:
        return True  # if this pair differs, so does the first one, which is still being compared
    are_equal = False
    try:
        are_equal = all(map(_have_equal_fields, _comparing.pairs))  # pairs are added during the iteration
    finally:
        found = _comparing.end()
    for each, left, right in found if are_equal else ():
        each.equal = left, right
    return are_equal


def _have_equal_fields(pair: _Pair) -> bool:
    _, one, other = pair
    return one.name == other.name and one.parameters == other.parameters and one._fields == other._fields


class Numbers:
    """Assigns numbers to the structs that a schema refers to, in the order of serialization.

    A struct is serialized in its place, with its number; one that has no other place, at its first reference.
    """

    def __init__(self, schema: Schema) -> None:
        """Find the referenced structs."""
        self._structs: dict[tuple[int, ...], RecursiveStruct] = {}
        self._numbers: dict[RecursiveStruct, int] = {}
        self._find(schema)

    def _find(self, schema: Schema) -> None:
        left: list[Schema | None] = [schema]
        found: set[RecursiveStruct] = set()
        while left:
            each = left.pop()
            if each is None or each.type.is_primitive:
                continue
            if isinstance(each, SchemaReference):
                if each.recursive_struct not in found:
                    found.add(each.recursive_struct)
                    self._structs[_identity(each.target)] = each.recursive_struct
                    left.append(each.target)
            elif each.type is Type.STRUCT:
                left += [field.schema for field in each.fields]
            else:
                left += [each.value_schema, each.key_schema if each.type is Type.MAP else None]

    def of_struct(self, schema: Schema) -> int | None:
        """Return the number of a struct to serialize, if it is referenced and has not been serialized yet."""
        recursive_struct = self._structs.get(_identity(schema))
        if recursive_struct is None or recursive_struct in self._numbers or recursive_struct.schema is None:
            return None
        return self._number(recursive_struct) if _own_facts(schema) == _own_facts(recursive_struct.schema) else None

    def of_reference(self, schema: SchemaReference) -> tuple[int, bool]:
        """Return the number of a reference's struct, and whether the struct must be serialized here."""
        is_inline = schema.recursive_struct not in self._numbers
        return self._number(schema.recursive_struct), is_inline

    def _number(self, recursive_struct: RecursiveStruct) -> int:
        return self._numbers.setdefault(recursive_struct, len(self._numbers))


def _identity(schema: Schema) -> tuple[int, ...]:
    """Return a key that is equal for all variants of the same struct: the identity of its fields."""
    return tuple(map(id, schema._fields))


def _own_facts(schema: Schema) -> tuple[Any, ...]:
    """Return a struct's attributes other than its fields and optionality."""
    return schema.name, schema.version, schema.doc, schema.parameters, deep_key(schema.default)


def _to_tree(schema: Schema | None, numbers: Numbers) -> Any:
    """Return the parts of a schema; for a reference its own parts, a number, and the struct if serialized here."""
    if isinstance(schema, SchemaReference):
        number, is_inline = numbers.of_reference(schema)
        return schema.optional, schema.own_parameters, number, _to_tree(schema.target, numbers) if is_inline else None
    if schema is None or schema.type.is_primitive:
        return schema
    parts = schema._parts()
    parts["number"] = numbers.of_struct(schema) if schema.type is Type.STRUCT else None
    parts["fields"] = [(field.name, _to_tree(field.schema, numbers)) for field in parts["fields"]]
    parts["key_schema"] = _to_tree(parts["key_schema"], numbers)
    parts["value_schema"] = _to_tree(parts["value_schema"], numbers)
    return parts


def _unpickled(tree: Any) -> RecursiveStruct:
    """Return the RecursiveStruct of a serialized struct; its self-references use a separate one."""
    recursive_struct = RecursiveStruct()
    recursive_struct.schema = _from_tree(tree, {})
    return recursive_struct


def _from_tree(tree: Any, structs: dict[int, RecursiveStruct]) -> Any:
    if isinstance(tree, tuple):
        optional, own, number, target = tree
        if target is not None:
            structs[number] = RecursiveStruct()
            structs[number].schema = _from_tree(target, structs)
        return SchemaReference(structs[number], optional, own)
    if not isinstance(tree, dict):
        return tree
    number = tree["number"]
    recursive_struct = structs.setdefault(number, RecursiveStruct()) if number is not None else RecursiveStruct()
    parts = {name: _from_tree(tree[name], structs) for name in ("key_schema", "value_schema")}
    fields = [Field(name, index, _from_tree(inner, structs)) for index, (name, inner) in enumerate(tree["fields"])]
    attributes = {name: part for name, part in tree.items() if name != "number"}
    recursive_struct.schema = Schema(**{**attributes, **parts, "fields": fields})
    return recursive_struct.schema


@lru_cache(maxsize=1000)
def holds_itself(schema: Schema | None) -> bool:
    """Return whether a schema is a reference or contains one."""
    if schema is None or schema.type.is_primitive:
        return False
    if schema.is_reference:
        return True
    if schema.type is Type.STRUCT:
        return any(holds_itself(field.schema) for field in schema.fields)
    return holds_itself(schema.value_schema) or (schema.type is Type.MAP and holds_itself(schema.key_schema))


def is_text(schema: Schema | None) -> bool:
    """Return whether a column holds values of the schema as JSON texts, since Arrow has no type for them."""
    return schema is None or schema.is_reference or schema._levels > MOST_LEVELS


def needs_records(schema: Schema | None) -> bool:
    """Return whether plugins must receive values of the schema as records.

    That is the case for recursive structs, and for schemas with more than 63 levels, where a map counts as two.
    """
    return schema is not None and (schema._levels > MOST_LEVELS or holds_itself(schema))
