"""Parses JSON Schemas from a registry as Everit's library does for the Java converter.

A schema with keywords of several kinds (such as a type and an enum) is a combination that requires all of them.
References are resolved on demand: within the text, by id, and to the referenced texts of the registry.
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from hearth_api.java import hash_ordered
from hearth_registry.schema_format import PayloadError

PARTS_AT_MOST = 100_000
"""Maximum parts of a schema; larger ones would take minutes and gigabytes."""
MISSING = object()
_OBJECT_WORDS = frozenset(
    ("properties", "required", "minProperties", "maxProperties", "dependencies", "patternProperties",
     "additionalProperties", "propertyNames")
)  # fmt: skip
_ARRAY_WORDS = frozenset(("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"))
_NUMBER_WORDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_STRING_WORDS = frozenset(("minLength", "maxLength", "pattern", "format"))
_CONDITION_WORDS = frozenset(("if", "then", "else"))
_CHOICES = ("oneOf", "allOf", "anyOf")
"""In the order of Java's hash tables, in which Everit checks them."""
_NUMBERS = ("integer", "number")


@dataclass(eq=False)
class Node:
    """A schema of one kind; the kind is Everit's class name in lower case: `object`, `array`, `combined`, ..."""

    kind: str
    words: Mapping[str, Any] = field(default_factory=dict)
    """The keywords of all kinds: title, description, default, and those of Kafka Connect."""
    is_integer: bool = False
    symbols: tuple[Any, ...] = ()
    """The values of an enum, or the value of a constant."""
    criterion: str = ""
    parts: tuple[Node, ...] = ()
    """The alternatives of a combined schema."""
    items: Node | None = None
    members: Mapping[str, Node] = field(default_factory=dict)
    """The members of an object, in the order of Java's hash tables."""
    required: frozenset[str] = frozenset()
    others: Node | None = None
    """The schema of additional members."""
    permits_others: bool = True
    reference: Any = None
    """The target of a reference in JSON, and the base URI of its own references."""

    @property
    def title(self) -> str | None:
        """Return the title, None when there is none."""
        title = self.words.get("title")
        return title if isinstance(title, str) else None


class SchemaTree:
    """A parsed JSON Schema."""

    def __init__(self, text: str, references: Mapping[str, str]) -> None:
        """Parse a text; raise `PayloadError` if it is not a schema."""
        self._texts = references
        self._documents: dict[str, Any] = {"": parsed(text)}
        self._targets: dict[int, Node] = {}
        self._ids: dict[str, dict[str, Any]] = {}
        self._count = 0
        try:
            self.root = self._node(self._documents[""], "")
        except RecursionError as error:
            raise PayloadError("JSON schema is nested too deep") from error

    def target(self, node: Node) -> Node:
        """Return the target of a reference; equal places give the same node."""
        reference, base = node.reference
        place, base = self._place(reference, base)
        known = self._targets.get(id(place))
        if known is None:
            known = self._targets[id(place)] = self._node(place, base)
        return known

    def _node(self, form: Any, base: str) -> Node:
        self._count += 1
        if self._count > PARTS_AT_MOST:
            raise PayloadError(f"JSON schema has more than {PARTS_AT_MOST} parts")
        if isinstance(form, bool):
            return Node("empty" if form else "false")
        if not isinstance(form, dict):
            raise PayloadError(
                f"JSON schema is neither an object nor a boolean: {json.dumps(form, default=str)[:100]}"
            )
        reference = form.get("$ref")
        if isinstance(reference, str):
            return Node("reference", form, reference=(reference, base))
        nodes = list(self._kinds(form, base))
        if len(nodes) == 1:
            nodes[0].words = form
            return nodes[0]
        if not nodes:
            return Node("empty", form)
        return Node("combined", form, criterion="allOf", parts=tuple(nodes))

    def _kinds(self, form: dict[str, Any], base: str) -> Iterator[Node]:
        """Return a node for each kind whose keywords a schema has, in Everit's order."""
        left = set(form)
        if "enum" in form:
            yield Node("enum", symbols=tuple(_list(form, "enum")))
        for criterion in _CHOICES:
            if criterion in form:
                parts = tuple(self._node(part, base) for part in _list(form, criterion))
                yield Node("combined", criterion=criterion, parts=parts)
        if "not" in form:
            yield Node("not")
        if "const" in form:
            yield Node("const", symbols=(form["const"],))
        if "type" in form:
            yield self._typed(form, left, base)
        if left & _ARRAY_WORDS:
            yield self._array(form, base)
        if left & _OBJECT_WORDS:
            yield self._object(form, base)
        if left & _NUMBER_WORDS:
            yield Node("number")
        if left & _STRING_WORDS:
            yield Node("string")
        if left & _CONDITION_WORDS:
            yield Node("conditional")

    def _typed(self, form: dict[str, Any], left: set[str], base: str) -> Node:
        type_ = form["type"]
        if not isinstance(type_, list):
            return self._of_type(type_, form, left, base)
        nodes = tuple(self._of_type(each, form, left, base) for each in type_)
        return Node("combined", criterion="anyOf", parts=nodes)

    def _of_type(self, type_: Any, form: dict[str, Any], left: set[str], base: str) -> Node:
        if type_ == "string":
            left -= _STRING_WORDS
            return Node("string", form)
        if type_ in _NUMBERS:
            left -= _NUMBER_WORDS
            return Node("number", is_integer=type_ == "integer")
        if type_ == "array":
            left -= _ARRAY_WORDS
            return self._array(form, base)
        if type_ == "object":
            left -= _OBJECT_WORDS
            return self._object(form, base)
        if type_ in ("boolean", "null"):
            return Node(type_)
        raise PayloadError(f"unknown type: [{type_}]")

    def _array(self, form: dict[str, Any], base: str) -> Node:
        items = form.get("items")
        return Node("array", items=self._node(items, base) if isinstance(items, (dict, bool)) else None)

    def _object(self, form: dict[str, Any], base: str) -> Node:
        properties = form.get("properties", {})
        if not isinstance(properties, dict):
            raise PayloadError("JSON schema has properties that are no object")
        others = form.get("additionalProperties")
        required = form.get("required", ())
        return Node(
            "object",
            members=hash_ordered({name: self._node(part, base) for name, part in properties.items()}),
            required=frozenset(required if isinstance(required, list) else ()),
            others=self._node(others, base) if isinstance(others, dict) else None,
            permits_others=others is not False,
        )

    def _place(self, reference: str, base: str) -> tuple[Any, str]:
        """Return the target of a reference and its document."""
        name, fragment = urldefrag(reference)
        where = base
        if name:
            where = next((each for each in (name, urljoin(self._id(base), name)) if self._knows(each)), "")
            if not where:
                return self._identified(reference, base), base
        document = self._document(where)
        if not fragment or fragment.startswith("/"):
            return _pointed(document, fragment, reference), where
        return self._identified(f"#{fragment}", where), where

    def _knows(self, name: str) -> bool:
        return name in self._texts or name in self._documents

    def _document(self, name: str) -> Any:
        if name not in self._documents:
            self._documents[name] = parsed(self._texts[name])
        return self._documents[name]

    def _id(self, name: str) -> str:
        document = self._document(name)
        found = document.get("$id", document.get("id")) if isinstance(document, dict) else None
        return found if isinstance(found, str) else name

    def _identified(self, reference: str, where: str) -> Any:
        """Return the schema with this id."""
        if where not in self._ids:
            self._ids[where] = dict(_identified(self._document(where)))
        ids = self._ids[where]
        for name in (reference, urljoin(self._id(where), reference)):
            if name in ids:
                return ids[name]
        raise PayloadError(f"JSON schema refers to {reference!r}, which is neither in it nor among its references")


def parsed(text: str) -> Any:
    """Parse JSON; raise `PayloadError` if it is invalid."""
    try:
        return json.loads(text, parse_float=decimal.Decimal)
    except (ValueError, RecursionError) as error:
        raise PayloadError("JSON schema is not JSON") from error


def _list(form: dict[str, Any], name: str) -> list[Any]:
    parts = form[name]
    if not isinstance(parts, list):
        raise PayloadError(f"JSON schema has {name!r} that is no array")
    return parts


def _pointed(document: Any, pointer: str, reference: str) -> Any:
    place = document
    for step in pointer.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and name in place:
            place = place[name]
        elif isinstance(place, list) and name.isdecimal() and int(name) < len(place):
            place = place[int(name)]
        else:
            raise PayloadError(f"JSON schema refers to {reference!r}, which does not exist")
    return place


def _identified(form: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(form, dict):
        for word in ("$id", "id"):
            if isinstance(form.get(word), str):
                yield form[word], form
        if isinstance(form.get("$anchor"), str):
            yield f"#{form['$anchor']}", form
    inner = form.values() if isinstance(form, dict) else form if isinstance(form, list) else ()
    for each in inner:
        yield from _identified(each)
