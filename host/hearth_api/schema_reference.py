"""Schemas that hold themselves: what stands in a struct's schema for the struct itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from threading import local
from types import MappingProxyType
from typing import Any, ClassVar

from hearth_api.errors import DataError
from hearth_api.schema import Field, Schema, Type


class Knot:
    """The struct that references are to, known once it is built, and another one that was found to be equal."""

    __slots__ = ("equal", "schema")

    def __init__(self) -> None:
        """Begin without."""
        self.schema: Schema | None = None
        self.equal: tuple[Schema, Schema] | None = None


class _Comparing(local):
    """The structs whose fields a thread is comparing: where a pair of them comes again, it is taken for granted."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], tuple[Knot, Schema, Schema]] = {}


_comparing = _Comparing()


class SchemaReference(Schema):
    """The schema of a struct where it stands inside of itself, as that of the next node does in the schema of a node.

    It has the fields, the name and all else of the struct it refers to; whether it may be null is its own, and it may
    have further parameters. `SchemaBuilder.itself` makes it. A struct that is put there has the reference as its
    schema: `Struct(node.field("next").schema)`. Two references are equal where the structs are, their being optional,
    versions, docs and defaults apart.
    """

    __slots__ = ("_knot", "_own")

    is_reference: ClassVar[bool] = True
    type = Type.STRUCT
    _key_schema = _value_schema = _kind = _most = None
    _least = 0
    _is_lasting = False

    def __init__(self, knot: Knot, optional: bool, parameters: Mapping[str, str] | None = None) -> None:
        """Refer to what the knot is or will be; the parameters are those beside the struct's."""
        put = object.__setattr__
        put(self, "_knot", knot)
        put(self, "optional", optional)
        put(self, "_own", dict(parameters or {}))

    @property
    def target(self) -> Schema:
        """Return the struct; a DataError before that is built."""
        target: Schema | None = self._knot.schema  # type: ignore[attr-defined]
        if target is None:
            raise DataError("a struct that holds itself is asked for its fields before it is built")
        return target

    @property
    def knot(self) -> Knot:
        """Return what all references to one struct share."""
        knot: Knot = self._knot  # type: ignore[attr-defined]
        return knot

    @property
    def own_parameters(self) -> dict[str, str]:
        """Return the parameters beside the struct's."""
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
        """Return the struct's parameters and its own."""
        both = {**(self.target.parameters or {}), **self.own_parameters}
        return MappingProxyType(both) if both else None

    @property
    def _fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return self.target._fields

    @property
    def _by_name(self) -> dict[str, Field]:  # type: ignore[override]
        return self.target._by_name

    @property
    def _indexes(self) -> Any:  # type: ignore[override]
        return self.target._indexes

    @property
    def _unset(self) -> list[None] | None:  # type: ignore[override]
        return self.target._unset

    def replaced(self, **parts: Any) -> Schema:
        """Return a reference where that can have the parts, else the struct with them."""
        if parts.keys() <= {"optional"}:
            return SchemaReference(self.knot, parts.get("optional", self.optional), self.own_parameters)
        inherited = {"optional": self.optional, "parameters": self.parameters}
        return self.target.replaced(**{**inherited, **parts})

    def with_parameters(self, parameters: Mapping[str, str]) -> SchemaReference:
        """Return the reference with further parameters."""
        return SchemaReference(self.knot, self.optional, {**self.own_parameters, **parameters})

    def __eq__(self, other: object) -> bool:
        """Compare what is its own, and names, parameters and fields of the structs."""
        if self is other:
            return True
        if not isinstance(other, SchemaReference):
            return False
        if self.optional != other.optional or self.own_parameters != other.own_parameters:
            return False
        return self.knot is other.knot or _are_equal(self.knot, self.target, other.target)

    def __hash__(self) -> int:
        """Return what is the same for all, since a struct may be hashed before it is whole."""
        return hash((SchemaReference, self.optional))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy as a tree, in which what was there before is a number."""
        return _from_tree, (_to_tree(self, {}), {})


def _are_equal(knot: Knot, one: Schema, other: Schema) -> bool:
    """Compare two structs; what they hold is found to be equal with them, and is not compared again."""
    pairs, pair = _comparing.pairs, (id(one), id(other))
    if pair in pairs or (knot.equal is not None and knot.equal[0] is one and knot.equal[1] is other):
        return True
    is_outermost = not pairs
    pairs[pair] = knot, one, other
    are_equal = False
    try:
        are_equal = one.name == other.name and one.parameters == other.parameters and one._fields == other._fields
    finally:
        if is_outermost:
            found = [*pairs.values()] if are_equal else []
            pairs.clear()
            for each, left, right in found:
                each.equal = left, right
    return are_equal


def _to_tree(schema: Schema | None, known: dict[Knot, int]) -> Any:
    """Return the parts of a schema; of a reference its own, a number, and where that comes first its struct."""
    if isinstance(schema, SchemaReference):
        is_first = schema.knot not in known
        number = known.setdefault(schema.knot, len(known))
        return schema.optional, schema.own_parameters, number, _to_tree(schema.target, known) if is_first else None
    if schema is None or schema.type.is_primitive:
        return schema
    parts = schema._parts()
    parts["fields"] = [(field.name, _to_tree(field.schema, known)) for field in parts["fields"]]
    parts["key_schema"] = _to_tree(parts["key_schema"], known)
    parts["value_schema"] = _to_tree(parts["value_schema"], known)
    return parts


def _from_tree(tree: Any, knots: dict[int, Knot]) -> Any:
    if isinstance(tree, tuple):
        optional, own, number, target = tree
        if target is not None:
            knots[number] = Knot()
            knots[number].schema = _from_tree(target, knots)
        return SchemaReference(knots[number], optional, own)
    if not isinstance(tree, dict):
        return tree
    parts = {name: _from_tree(tree[name], knots) for name in ("key_schema", "value_schema")}
    fields = [Field(name, index, _from_tree(inner, knots)) for index, (name, inner) in enumerate(tree["fields"])]
    return Schema(**{**tree, **parts, "fields": fields})


@lru_cache(maxsize=1000)
def holds_itself(schema: Schema | None) -> bool:
    """Tell whether there is a reference in a schema, or it is one."""
    if schema is None or schema.type.is_primitive:
        return False
    if schema.is_reference:
        return True
    if schema.type is Type.STRUCT:
        return any(holds_itself(field.schema) for field in schema.fields)
    return holds_itself(schema.value_schema) or (schema.type is Type.MAP and holds_itself(schema.key_schema))
