"""ReplaceField: removes and renames fields of the key or value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from hearth_api import ConnectRecord, Importance, Lambda, Schema, SchemaBuilder, Settings, Struct, ValidList, key
from hearth_api.batch import Batch
from hearth_api.java import ByKeys, hash_ordered
from hearth_transforms.field_path import FieldPath
from hearth_transforms.nesting import Alteration, FieldTransformation, Place, by_place
from hearth_transforms.pair import DESCRIPTION, invalid_pair, parts
from hearth_transforms.plugin import field_syntax, null_to_default
from hearth_transforms.side import KEY, VALUE

if TYPE_CHECKING:
    from hearth_api.layout import Moves


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
        doc="Names of the fields to remove, even if they are also included.",
    )
    include: list[str] = key(
        "include",
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Names of the fields to keep; all if empty.",
    )
    renames: list[str] = key(
        "renames",
        default=[],
        check=Lambda(_check_renames, DESCRIPTION),
        importance=Importance.MEDIUM,
        doc="Fields with their new names, such as foo:bar,abc:xyz.",
    )
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = field_syntax()


class _Replacing(Alteration):
    """Removes and renames fields; without included names all fields are kept."""

    def __init__(
        self, exclude: Collection[str], include: Collection[str], renames: Mapping[str, str], with_default: bool
    ) -> None:
        self._exclude, self._include, self._new_names = exclude, include, renames
        # If two fields get the same name, Java uses the last one in its map.
        self._old_names: dict[str, str] = {new: old for old, new in hash_ordered(dict(renames)).items()}
        self._with_default = with_default
        self._sources = ByKeys(self._named)

    def schema(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            if self._is_kept(field.name):
                builder.field(self._new_names.get(field.name, field.name), field.schema)
        return builder.build()

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        replaced = Struct(updated)
        for field in updated.fields:
            name = self._old_name(field.name)
            replaced.put(field, struct.get(name) if self._with_default else struct.get_without_default(name))
        return replaced

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        return {name: value[source] for name, source in self._sources[tuple(value)]}

    def moves(self, record: Any) -> Moves | None:
        from hearth_api.layout import Moves

        names = {name: self._new_names.get(name, name) for name in {*self._exclude, *self._include, *self._new_names}}
        return Moves({name: new if self._is_kept(name) else None for name, new in names.items()}, not self._include)

    def _named(self, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return pairs of the new and the present name of each kept field of a map."""
        kept = {self._new_names.get(name, name): name for name in names if self._is_kept(name)}
        return tuple(hash_ordered(kept, capacity=len(names)).items())

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns

        kept: list[Any] = []
        for field in updated.fields:
            source = schema.field(self._old_name(field.name))
            if source is None or source.schema != field.schema:
                return None
            kept.append(columns.field_column(column, source, self._with_default))
            if not columns.is_sound(field.schema, kept[-1]):
                return None
        return kept

    def _is_kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _old_name(self, name: str) -> str:
        return self._old_names.get(name, name)


class ReplaceField(FieldTransformation):
    """Removes and renames fields of the key or value; a null stays null."""

    settings = ReplaceFieldConfig
    purpose = "field replacement"
    keeps_null = True

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the names of the fields."""
        config = ReplaceFieldConfig(configs)
        version = config.field_syntax_version
        renames = {FieldPath(old, version): new for old, new in _renames(config.renames).items()}
        exclude, new_names = by_place(_paths(config.exclude, version)), by_place(renames)
        include = _included([path.steps for path in _paths(config.include, version)])
        places = {(): None, **dict.fromkeys([*exclude, *include, *new_names])}
        self._alter_with(
            {
                place: _Replacing(
                    exclude.get(place, ()),
                    include.get(place, ()),
                    new_names.get(place, {}),
                    config.replace_null_with_default,
                )
                for place in places
            }
        )


class ReplaceFieldKey(ReplaceField):
    """Removes and renames fields of the key."""

    side = KEY


class ReplaceFieldValue(ReplaceField):
    """Removes and renames fields of the value."""

    side = VALUE


def _paths(texts: list[str], version: str) -> dict[FieldPath, None]:
    return {FieldPath(text, version): None for text in texts}


def _included(paths: list[Place]) -> dict[Place, set[str]]:
    """Map each place to its included fields: the fields of the paths and all fields on these paths.

    A field that is included as a whole is not filtered inside.
    """
    found: dict[Place, set[str]] = {}
    for steps in paths:
        if not any(steps[:count] in paths for count in range(1, len(steps))):
            for count in range(len(steps)):
                found.setdefault(steps[:count], set()).add(steps[count])
    return found
