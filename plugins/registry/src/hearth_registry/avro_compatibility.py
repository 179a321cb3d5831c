"""Checks whether an Avro schema can read data of another, by the rules of Avro's SchemaCompatibility."""

from __future__ import annotations

from hearth_registry.avro_type import NO_DEFAULT, AvroType

WIDER = {
    "int": ("long", "float", "double"), "long": ("float", "double"), "float": ("double",), "string": ("bytes",),
    "bytes": ("string",),
}  # fmt: skip
"""The promotions of each kind: the other kinds its values can be read as."""


def incompatibilities(reader: AvroType, writer: AvroType) -> list[str]:
    """Return the incompatibilities of the reader with the writer, with their place; empty if it reads everything."""
    return _Comparison().between(reader, writer, "/")


def is_same(reader: AvroType, writer: AvroType) -> bool:
    """Return whether two types are equal apart from their parts."""
    if reader is writer:
        return True
    if reader.kind != writer.kind or reader.size != writer.size:
        return False
    is_named = reader.kind in ("fixed", "enum", "record")
    return not is_named or reader.short_name == writer.short_name or writer.name in reader.aliases


class _Comparison:
    """Compares each pair of types once; a pair inside itself counts as compatible."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[str]] = {}

    def between(self, reader: AvroType, writer: AvroType, place: str) -> list[str]:
        pair = (id(reader), id(writer))
        if pair not in self._known:
            self._known[pair] = []
            self._known[pair] = self._compared(reader, writer, place)
        return self._known[pair]

    def _compared(self, reader: AvroType, writer: AvroType, place: str) -> list[str]:
        if writer.kind == "union":
            return [each for branch in writer.branches for each in self.between(reader, branch, place)]
        if reader.kind == "union":
            if any(not self.between(branch, writer, place) for branch in reader.branches):
                return []
            return [f"MISSING_UNION_BRANCH at {place}: reader union lacking writer type: {writer.full_name}"]
        if not is_same(reader, writer):
            return self._mismatch(reader, writer, place)
        if reader.kind == "record":
            return self._record(reader, writer, place)
        if reader.kind in ("array", "map"):
            return self.between(reader.items, writer.items, f"{place.rstrip('/')}/items")
        known = frozenset(reader.symbols)
        missing = [symbol for symbol in writer.symbols if symbol not in known]
        if missing and reader.default is None:
            return [f"MISSING_ENUM_SYMBOLS at {place}: [{', '.join(missing)}]"]
        return []

    def _mismatch(self, reader: AvroType, writer: AvroType, place: str) -> list[str]:
        if reader.kind in WIDER.get(writer.kind, ()):
            return []
        if reader.kind != writer.kind:
            return [f"TYPE_MISMATCH at {place}: reader type {reader.kind}, writer type {writer.kind}"]
        if reader.size != writer.size:
            return [f"FIXED_SIZE_MISMATCH at {place}: expected {writer.size}, found {reader.size}"]
        return [f"NAME_MISMATCH at {place}: expected {writer.name}, found {reader.name}"]

    def _record(self, reader: AvroType, writer: AvroType, place: str) -> list[str]:
        found: list[str] = []
        for each in reader.fields:
            inner = f"{place.rstrip('/')}/fields/{each.name}"
            written = next((own for own in map(writer.find, (each.name, *each.aliases)) if own is not None), None)
            if written is not None:
                found += self.between(each.type, written.type, inner)
            elif each.default is NO_DEFAULT:
                found.append(f"READER_FIELD_MISSING_DEFAULT_VALUE at {inner}: {each.name}")
        return found
