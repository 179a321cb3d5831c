"""Checks whether a JSON Schema can read data of another, by the rules of Confluent's registry.

Objects are open unless `additionalProperties` is false. A property may be removed from an open object, and an optional
property may be added to a closed object; in the other cases old and new values may conflict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hearth_registry.json_schema_tree import Node, SchemaTree

_MORE_IS_WIDER = ("maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties")
_LESS_IS_WIDER = ("minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties")
_MAY_ONLY_GO = ("pattern", "multipleOf", "uniqueItems")
_ROOT = "#/"
_STEPS_AT_MOST = 20_000


def differences(reader: SchemaTree, writer: SchemaTree) -> list[str]:
    """Return the incompatibilities of `reader` with `writer`; empty if it reads everything.

    Schemas that are too expensive to compare are reported as incompatible.
    """
    comparison = _Comparison(reader, writer)
    try:
        return [f"{place}: {problem}" for place, problem in comparison.nodes(reader.root, writer.root)]
    except RecursionError:
        return ["schemas are nested too deep to be compared"]


class _Comparison:
    def __init__(self, reader: SchemaTree, writer: SchemaTree) -> None:
        self._reader, self._writer = reader, writer
        self._seen: set[tuple[int, int]] = set()
        self._count = 0

    def nodes(self, new: Node, old: Node, place: str = _ROOT) -> Iterator[tuple[str, str]]:
        """Yield the places where the new schema refuses values of the old one, and the reason."""
        new, old = _followed(self._reader, new), _followed(self._writer, old)
        self._count += 1
        if self._count > _STEPS_AT_MOST:
            yield place, "schemas are too large to be compared"
            return
        if (id(new), id(old)) in self._seen:
            return
        self._seen.add((id(new), id(old)))
        if new.kind == "empty":
            return
        if new.kind == "combined" or old.kind == "combined":
            yield from self._combined(new, old, place)
        elif new.kind != old.kind or (new.is_integer and not old.is_integer):
            yield place, f"type changed from {_kind(old)} to {_kind(new)}"
        else:
            yield from ((place, problem) for problem in _narrowed(new, old))
            yield from self._parts(new, old, place)

    def _parts(self, new: Node, old: Node, place: str) -> Iterator[tuple[str, str]]:
        if new.kind == "object":
            yield from self._objects(new, old, place)
        elif new.items is not None and old.items is not None:
            yield from self.nodes(new.items, old.items, f"{place}items/")
        elif new.items is not None:
            yield place, "items got a schema"

    def _objects(self, new: Node, old: Node, place: str) -> Iterator[tuple[str, str]]:
        for name, member in new.members.items():
            inner = f"{place}properties/{name}/"
            if name in old.members:
                yield from self.nodes(member, old.members[name], inner)
            elif old.others is not None:
                yield from self.nodes(member, old.others, inner)
            elif old.permits_others and _followed(self._reader, member).kind != "empty":
                yield inner, "property added to an object that may have had it"
        for name in sorted(new.required - old.required):
            if not (name in new.members and "default" in new.members[name].words):
                yield f"{place}required/{name}", "property became required"
        for name in old.members.keys() - new.members.keys():
            inner = f"{place}properties/{name}/"
            if new.others is not None:
                yield from self.nodes(new.others, old.members[name], inner)
            elif not new.permits_others:
                yield inner, "property removed from an object that has no others"
        if old.permits_others and not new.permits_others:
            yield place, "object has no other properties any more"
        elif new.others is not None and old.others is not None:
            yield from self.nodes(new.others, old.others, f"{place}additionalProperties/")
        elif new.others is not None and old.permits_others:
            yield place, "other properties got a schema"

    def _combined(self, new: Node, old: Node, place: str) -> Iterator[tuple[str, str]]:
        """Yield the old alternatives that no new alternative covers; `allOf` is compared in both directions."""
        if "allOf" in (new.criterion, old.criterion):
            news, olds = _all(new), _all(old)
            lost = [part for part in news if not any(self._reads(part, other) for other in olds)]
        else:
            news, olds = _choices(new), _choices(old)
            lost = [part for part in olds if not any(self._reads(other, part) for other in news)]
        for part in lost:
            yield place, f"{new.criterion or old.criterion} does not cover {_kind(part)}"

    def _reads(self, new: Node, old: Node) -> bool:
        """Return whether one alternative reads another; intermediate results are kept only if it does."""
        before = set(self._seen)
        if next(self.nodes(new, old), None) is None:
            return True
        self._seen = before
        return False


def _followed(tree: SchemaTree, node: Node) -> Node:
    seen: set[int] = set()
    while node.kind == "reference" and id(node) not in seen:
        seen.add(id(node))
        node = tree.target(node)
    return node


def _all(node: Node) -> tuple[Node, ...]:
    return node.parts if node.criterion == "allOf" else (node,)


def _choices(node: Node) -> tuple[Node, ...]:
    return node.parts if node.kind == "combined" else (node,)


def _narrowed(new: Node, old: Node) -> Iterator[str]:
    """Yield the limits that became narrower."""
    if not {*map(repr, old.symbols)} <= {*map(repr, new.symbols)}:
        yield "values of the enum were taken away"
    for word in (*_MORE_IS_WIDER, *_LESS_IS_WIDER, *_MAY_ONLY_GO):
        limit, before = new.words.get(word), old.words.get(word)
        if limit is not None and limit != before and not _is_wider(word, limit, before):
            yield f"{word} became {limit}"


def _is_wider(word: str, limit: Any, before: Any) -> bool:
    if before is None or word in _MAY_ONLY_GO or isinstance(limit, bool) or isinstance(before, bool):
        return limit is False
    return bool(limit > before if word in _MORE_IS_WIDER else limit < before)


def _kind(node: Node) -> str:
    return "integer" if node.is_integer else node.kind
