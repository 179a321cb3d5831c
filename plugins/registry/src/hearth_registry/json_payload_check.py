"""Validates payloads against their JSON Schema if `json.fail.invalid.schema` is set."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hearth_api import DataError
from hearth_api.java import compile_pattern
from hearth_json.tree import read_tree
from hearth_registry.json_schema_tree import Node, SchemaTree
from hearth_registry.schema_format import PayloadError


class PayloadCheck:
    """Validates payloads against one schema."""

    def __init__(self, tree: SchemaTree) -> None:
        """Set the schema."""
        self._tree = tree

    def payload(self, payload: bytes) -> None:
        """Raise `PayloadError` unless a payload is JSON and valid for the schema."""
        try:
            tree = read_tree(payload)
            problem = next(self._problems(self._tree.root, tree, "#"), None)
        except (DataError, RecursionError) as error:
            raise PayloadError("payload is not JSON") from error
        if problem is not None:
            raise PayloadError(f"JSON does not match schema: {problem}")

    def _problems(self, node: Node, tree: Any, place: str) -> Iterator[str]:
        """Yield the violations in a JSON value with their place."""
        if node.kind == "reference":
            yield from self._problems(self._tree.target(node), tree, place)
        elif node.kind == "combined":
            yield from self._choice(node, tree, place)
        elif node.kind in ("enum", "const"):
            if not any(_is_same(tree, symbol) for symbol in node.symbols):
                yield f"{place}: none of the values that are allowed"
        elif node.kind == "false":
            yield f"{place}: nothing is allowed here"
        elif (fits := _KINDS.get(node.kind)) is not None:
            yield from self._of_kind(
                node, fits(tree) and not (node.is_integer and not isinstance(tree, int)), tree, place
            )

    def _of_kind(self, node: Node, is_of_kind: bool, tree: Any, place: str) -> Iterator[str]:
        if not is_of_kind:
            yield f"{place}: expected type: {'integer' if node.is_integer else node.kind}"
            return
        for word, is_kept in _LIMITS.items():
            limit = node.words.get(word)
            if limit is not None and not isinstance(limit, (bool, dict)) and not is_kept(tree, limit):
                yield f"{place}: {word} {limit} is not kept"
        if node.kind == "object":
            yield from self._object(node, tree, place)
        elif node.items is not None:
            for index, item in enumerate(tree):
                yield from self._problems(node.items, item, f"{place}/{index}")

    def _object(self, node: Node, tree: Mapping[str, Any], place: str) -> Iterator[str]:
        yield from (f"{place}: required key [{name}] not found" for name in sorted(node.required - tree.keys()))
        for name, item in tree.items():
            if name in node.members:
                yield from self._problems(node.members[name], item, f"{place}/{name}")
            elif node.others is not None:
                yield from self._problems(node.others, item, f"{place}/{name}")
            elif not node.permits_others:
                yield f"{place}: extraneous key [{name}] is not permitted"

    def _choice(self, node: Node, tree: Any, place: str) -> Iterator[str]:
        count = sum(next(self._problems(part, tree, place), None) is None for part in node.parts)
        least = len(node.parts) if node.criterion == "allOf" else 1
        most = 1 if node.criterion == "oneOf" else len(node.parts)
        if not least <= count <= most:
            yield f"{place}: {count} of {len(node.parts)} schemas of {node.criterion} match"


def _is_same(tree: Any, symbol: Any) -> bool:
    return isinstance(tree, bool) == isinstance(symbol, bool) and bool(tree == symbol)


def _is_number(tree: Any) -> bool:
    return isinstance(tree, (int, decimal.Decimal)) and not isinstance(tree, bool)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "boolean": lambda tree: isinstance(tree, bool),
    "null": lambda tree: tree is None,
    "number": _is_number,
    "string": lambda tree: isinstance(tree, str),
    "array": lambda tree: isinstance(tree, list),
    "object": lambda tree: isinstance(tree, dict),
}
_LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda tree, limit: not _is_number(tree) or tree >= limit,
    "maximum": lambda tree, limit: not _is_number(tree) or tree <= limit,
    "exclusiveMinimum": lambda tree, limit: not _is_number(tree) or tree > limit,
    "exclusiveMaximum": lambda tree, limit: not _is_number(tree) or tree < limit,
    "multipleOf": lambda tree, limit: not _is_number(tree) or tree % limit == 0,
    "minLength": lambda tree, limit: not isinstance(tree, str) or len(tree) >= limit,
    "maxLength": lambda tree, limit: not isinstance(tree, str) or len(tree) <= limit,
    "pattern": lambda tree, limit: not isinstance(tree, str) or compile_pattern(limit).search(tree) is not None,
    "minItems": lambda tree, limit: not isinstance(tree, list) or len(tree) >= limit,
    "maxItems": lambda tree, limit: not isinstance(tree, list) or len(tree) <= limit,
    "minProperties": lambda tree, limit: not isinstance(tree, dict) or len(tree) >= limit,
    "maxProperties": lambda tree, limit: not isinstance(tree, dict) or len(tree) <= limit,
}
