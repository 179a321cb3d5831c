"""ReplaceField: fields of the key or value are left out or get other names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hearth_api import Importance, Lambda, Schema, SchemaBuilder, Settings, Struct, ValidList, key
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.pair import DESCRIPTION, invalid_pair, parts
from hearth_transforms.plugin import KafkaPlugin, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side

_PURPOSE = "field replacement"


def _renames(items: list[str]) -> dict[str, str]:
    renames = {}
    for item in items:
        pair = parts(item)
        if len(pair) != 2:
            raise invalid_pair(items, item)
        renames[pair[0]] = pair[1]
    return renames


def _check_renames(name: str, value: list[str]) -> None:
    _renames(value)


class ReplaceFieldConfig(Settings):
    """Settings of ReplaceField."""

    exclude: list[str] = key(
        "exclude",
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Names of the fields to leave out, even where they are included as well.",
    )
    include: list[str] = key(
        "include",
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Names of the fields to keep; without any all are kept.",
    )
    renames: list[str] = key(
        "renames",
        default=[],
        check=Lambda(_check_renames, DESCRIPTION),
        importance=Importance.MEDIUM,
        doc="Pairs of the present and the new name of a field, with a colon between them.",
    )
    replace_null_with_default: bool = null_to_default()


class ReplaceField(KafkaPlugin, BatchTransformation):
    """Leaves out and renames fields on one side of a record; a null side stays as it is."""

    settings = ReplaceFieldConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the names of the fields."""
        config = ReplaceFieldConfig(configs)
        self._exclude, self._include = frozenset(config.exclude), frozenset(config.include)
        self._new_names = _renames(config.renames)
        # Where two fields get one name Java reads the one that is last in its map.
        self._old_names: dict[str, str] = {new: old for old, new in hash_ordered(self._new_names).items()}
        self._with_default = config.replace_null_with_default
        self._replaced = lru_cache(maxsize=16)(self._make_replaced)

    def apply(self, record: R) -> R:
        """Leave out and rename the fields of one record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if value is None:
            return record
        if schema is None:
            present = require_map(value, _PURPOSE)
            kept = {self._new_names.get(name, name): each for name, each in present.items() if self._is_kept(name)}
            return self.side.replaced(record, None, hash_ordered(kept, capacity=len(present)))
        struct = require_struct(value, _PURPOSE, schema)
        updated = Struct(self._replaced(struct.schema))
        for field in updated.schema.fields:
            name = self._old_name(field.name)
            updated.put(field, struct.get(name) if self._with_default else struct.get_without_default(name))
        return self.side.replaced(record, updated.schema, updated)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Put the columns of the fields that are kept together."""
        from hearth_transforms import struct_column as columns

        return columns.with_structs(self.side, batch, self._kept)

    def _kept(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, list[Any]] | None:
        from hearth_transforms import struct_column as columns

        replaced, kept = self._replaced(schema), []
        for field in replaced.fields:
            source = schema.field(self._old_name(field.name))
            if source is None or source.schema != field.schema:
                return None
            kept.append(columns.field_column(column, source, self._with_default))
            if not columns.is_sound(field.schema, kept[-1]):
                return None
        return replaced, kept

    def _is_kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _old_name(self, name: str) -> str:
        return self._old_names.get(name, name)

    def _make_replaced(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            if self._is_kept(field.name):
                builder.field(self._new_names.get(field.name, field.name), field.schema)
        return builder.build()


class ReplaceFieldKey(ReplaceField):
    """Leaves out and renames fields of the key."""

    side = KEY


class ReplaceFieldValue(ReplaceField):
    """Leaves out and renames fields of the value."""

    side = VALUE
