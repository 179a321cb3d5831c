"""Builds schemas step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api.errors import DataError, SchemaBuilderError
from hearth_api.schema import Field, Schema, Type
from hearth_api.schema_reference import RecursiveStruct, SchemaReference
from hearth_api.validation import validate_value


class SchemaBuilder:
    """Collects the parts of a schema: `SchemaBuilder.struct().field("id", INT64_SCHEMA).build()`.

    Each part can be set once. Call `optional()` before setting a default of None.
    """

    def __init__(self, type_: Type) -> None:
        """Start a schema of the given type."""
        self._type = type_
        self._optional: bool | None = None
        self._default: Any = None
        self._name: str | None = None
        self._version: int | None = None
        self._doc: str | None = None
        self._parameters: dict[str, str] = {}
        self._fields: dict[str, Field] = {}
        self._key_schema: Schema | None = None
        self._value_schema: Schema | None = None
        self._recursive_struct: RecursiveStruct | None = None

    @classmethod
    def type(cls, type_: Type) -> SchemaBuilder:
        """Start a schema of the given type."""
        return cls(type_)

    @classmethod
    def int8(cls) -> SchemaBuilder:
        """Start an INT8 schema."""
        return cls(Type.INT8)

    @classmethod
    def int16(cls) -> SchemaBuilder:
        """Start an INT16 schema."""
        return cls(Type.INT16)

    @classmethod
    def int32(cls) -> SchemaBuilder:
        """Start an INT32 schema."""
        return cls(Type.INT32)

    @classmethod
    def int64(cls) -> SchemaBuilder:
        """Start an INT64 schema."""
        return cls(Type.INT64)

    @classmethod
    def float32(cls) -> SchemaBuilder:
        """Start a FLOAT32 schema."""
        return cls(Type.FLOAT32)

    @classmethod
    def float64(cls) -> SchemaBuilder:
        """Start a FLOAT64 schema."""
        return cls(Type.FLOAT64)

    @classmethod
    def boolean(cls) -> SchemaBuilder:
        """Start a BOOLEAN schema."""
        return cls(Type.BOOLEAN)

    @classmethod
    def string(cls) -> SchemaBuilder:
        """Start a STRING schema."""
        return cls(Type.STRING)

    @classmethod
    def bytes(cls) -> SchemaBuilder:
        """Start a BYTES schema."""
        return cls(Type.BYTES)

    @classmethod
    def struct(cls) -> SchemaBuilder:
        """Start a STRUCT schema."""
        return cls(Type.STRUCT)

    @classmethod
    def array(cls, value_schema: Schema | SchemaBuilder) -> SchemaBuilder:
        """Start an ARRAY schema whose elements have the given schema."""
        builder = cls(Type.ARRAY)
        builder._value_schema = _built(value_schema, "valueSchema cannot be null.")
        return builder

    @classmethod
    def map(cls, key_schema: Schema | SchemaBuilder, value_schema: Schema | SchemaBuilder) -> SchemaBuilder:
        """Start a MAP schema."""
        builder = cls(Type.MAP)
        builder._key_schema = _built(key_schema, "keySchema cannot be null.")
        builder._value_schema = _built(value_schema, "valueSchema cannot be null.")
        return builder

    def optional(self) -> SchemaBuilder:
        """Allow None."""
        self._optional = self._once("optional", self._optional, True)
        return self

    def required(self) -> SchemaBuilder:
        """Forbid None; this is the default."""
        self._optional = self._once("optional", self._optional, False)
        return self

    def default(self, value: Any) -> SchemaBuilder:
        """Set the value used in place of a missing one; it must fit the schema as built so far."""
        default = self._once("default", self._default, value)
        try:
            validate_value(self.build(), default)
        except DataError as error:
            raise SchemaBuilderError("Invalid default value") from error
        self._default = default
        return self

    def name(self, name: str | None) -> SchemaBuilder:
        """Set the name of the schema."""
        self._name = self._once("name", self._name, name)
        return self

    def version(self, version: int | None) -> SchemaBuilder:
        """Set the version of the schema."""
        self._version = self._once("version", self._version, version)
        return self

    def doc(self, doc: str | None) -> SchemaBuilder:
        """Set the documentation of the schema."""
        self._doc = self._once("doc", self._doc, doc)
        return self

    def parameter(self, name: str, value: str) -> SchemaBuilder:
        """Add a parameter."""
        self._parameters[name] = value
        return self

    def parameters(self, parameters: Mapping[str, str]) -> SchemaBuilder:
        """Add several parameters."""
        self._parameters.update(parameters)
        return self

    def basics(self, source: Schema) -> SchemaBuilder:
        """Copy name, version, documentation and parameters from another schema."""
        self.name(source.name).version(source.version).doc(source.doc)
        return self.parameters(source.parameters or {})

    def field(self, name: str, schema: Schema | SchemaBuilder) -> SchemaBuilder:
        """Add a field to a struct schema."""
        if self._type is not Type.STRUCT:
            raise SchemaBuilderError(f"Cannot create fields on type {self._type}")
        if not name:
            raise SchemaBuilderError("fieldName cannot be null.")
        if name in self._fields:
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
        built = _built(schema, f"fieldSchema for field {name} cannot be null.")
        self._fields[name] = Field(name, len(self._fields), built)
        return self

    def itself(self, optional: bool = False) -> SchemaReference:
        """Return a reference to the struct being built: `node.field("next", node.itself(optional=True))`.

        The reference has fields once the struct is built.
        """
        if self._type is not Type.STRUCT:
            raise SchemaBuilderError(f"Only a struct can hold itself, not type {self._type}")
        self._recursive_struct = self._recursive_struct or RecursiveStruct()
        return SchemaReference(self._recursive_struct, optional)

    def build(self) -> Schema:
        """Return the schema; the builder remains usable."""
        built = Schema(
            self._type,
            bool(self._optional),
            self._default,
            self._name,
            self._version,
            self._doc,
            self._parameters,
            tuple(self._fields.values()),
            self._key_schema,
            self._value_schema,
        )
        if self._recursive_struct is not None:
            self._recursive_struct.schema = built
        return built

    @staticmethod
    def _once(part: str, present: Any, value: Any) -> Any:
        if present is not None and present != value:
            raise SchemaBuilderError(f"Invalid SchemaBuilder call: {part} has already been set.")
        return value


def _built(schema: Schema | SchemaBuilder | None, message: str) -> Schema:
    if schema is None:
        raise SchemaBuilderError(message)
    return schema.build() if isinstance(schema, SchemaBuilder) else schema
