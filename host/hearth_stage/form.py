"""Forms: how the members of a message are written to a frame and read from it.

A form is created once per member type, so that neither side reads members by name. A value that is read has the
declared type; otherwise a ``ValueError`` reports the actual value (``PROTOCOL.md``, section 5).
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

from hearth_api.batch import Batch
from hearth_execution.failure import ErrorInfo, cut

T = TypeVar("T")
_NOTHING: Any = object()
_SHOWN = 200
"""Number of characters shown of a malformed value."""
_NAMES: dict[type[Any], str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class Form:
    """How a value is written to and read from JSON; without ``write`` it is written unchanged."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Body:
    """How a value is converted to and from a record batch; without functions it is one."""

    read: Callable[[Batch], Any] | None = None
    write: Callable[[Any], Batch] | None = None


@dataclass(frozen=True)
class _Member:
    name: str
    form: Form
    default: Any


@dataclass(frozen=True)
class _Bodies:
    """The record batches of one member: a single one, or all remaining ones."""

    name: str
    body: Body
    are_many: bool

    def write(self, value: Any) -> Sequence[Batch]:
        values = value if self.are_many else (value,)
        return values if self.body.write is None else [self.body.write(each) for each in values]

    def read(self, batches: Sequence[Batch]) -> Any:
        if not self.are_many and not batches:
            raise ValueError(f"the body of {self.name!r} is missing")
        taken = batches if self.are_many else batches[:1]
        values = list(taken) if self.body.read is None else [self.body.read(each) for each in taken]
        return values if self.are_many else values[0]


class Codec(Generic[T]):
    """Writes and reads one dataclass: its members and its record batches.

    A member equal to its default is not written; a missing member gets its default, and an unknown one is ignored.
    """

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._members: list[_Member] = []
        self._bodies: list[_Bodies] = []
        hints = typing.get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):  # type: ignore[arg-type]
            self._add(field, hints[field.name])

    @property
    def members(self) -> list[str]:
        """Return the names of the JSON members."""
        return [member.name for member in self._members]

    @property
    def bodies(self) -> list[str]:
        """Return the names of the members sent as record batches, in order."""
        return [each.name for each in self._bodies]

    def encode(self, value: T) -> tuple[dict[str, Any], list[Batch]]:
        """Return the JSON members and the record batches of a value."""
        batches: list[Batch] = []
        for each in self._bodies:
            batches += each.write(getattr(value, each.name))
        return self.write(value), batches

    def decode(self, members: dict[str, Any], batches: Sequence[Batch]) -> T:
        """Return the value; raises ``ValueError`` if a member or a body has the wrong type."""
        found = self._found(members)
        for each in self._bodies:
            found[each.name] = each.read(batches)
            batches = batches[1:]
        return self._kind(**found)

    def write(self, value: T) -> dict[str, Any]:
        """Return the JSON members of a value."""
        written = {}
        for member in self._members:
            own = getattr(value, member.name)
            if member.default is _NOTHING or own != member.default:
                write = member.form.write
                written[member.name] = own if write is None else write(own)
        return written

    def read(self, members: Any) -> T:
        """Return a value without record batches."""
        return self._kind(**self._found(_checked(members, dict)))

    def _found(self, members: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for member in self._members:
            if member.name in members:
                try:
                    found[member.name] = member.form.read(members[member.name])
                except Exception as error:  # also what a nested form raises
                    raise ValueError(f"{member.name!r}: {error}") from error
            elif member.default is _NOTHING:
                raise ValueError(f"{member.name!r} is missing")
        return found

    def _add(self, field: Any, hint: Any) -> None:
        item = get_args(hint)[0] if get_origin(hint) is list else hint
        body = _body_of(item)
        if body is None:
            self._members.append(_Member(field.name, form_of(hint), _default_of(field)))
        else:
            self._bodies.append(_Bodies(field.name, body, item is not hint))


_codecs: dict[type[Any], Codec[Any]] = {}


def codec_of(kind: type[T]) -> Codec[T]:
    """Return the codec of a dataclass, made once."""
    codec = _codecs.get(kind)
    if codec is None:
        codec = _codecs[kind] = Codec(kind)
    return codec


def form_of(kind: Any) -> Form:
    """Return the form of a type."""
    if get_origin(kind) is Annotated:
        return next(each for each in kind.__metadata__ if isinstance(each, Form))
    if kind is Any:
        return Form(_as_it_is)
    if kind is ErrorInfo:  # the reader cuts its texts to its own limits
        return Form(lambda value: ErrorInfo.from_json(_checked(value, dict)), ErrorInfo.to_json)
    if kind is int:
        return Form(_whole_number)
    if kind is float:
        return Form(lambda value: value if type(value) is int else _checked(value, float))
    if kind in (str, bool):
        return Form(lambda value: _checked(value, kind))
    if dataclasses.is_dataclass(kind):
        codec: Codec[Any] = codec_of(kind)  # type: ignore[arg-type]
        return Form(codec.read, codec.write)
    return _made_of(kind, get_origin(kind), get_args(kind))


def _made_of(kind: Any, origin: Any, parts: tuple[Any, ...]) -> Form:
    """Return the form of a composite type."""
    if origin in (Union, UnionType):
        kinds = [part for part in parts if part is not type(None)]
        return _optional(form_of(kinds[0]) if len(kinds) == 1 else _plain_of(kinds))
    if origin is list:
        return _list(form_of(parts[0]))
    if origin in (dict, Mapping) and parts[0] is str:
        return _object(form_of(parts[1]))
    if origin is tuple and parts[-1] is Ellipsis:
        return _tuple(form_of(parts[0]))
    if origin is tuple:
        return _row([form_of(part) for part in parts], tuple)
    if hasattr(kind, "_fields"):
        return _row([form_of(each) for each in typing.get_type_hints(kind).values()], kind._make)
    raise TypeError(f"{kind} has no form in a frame")


def _plain_of(kinds: Sequence[type]) -> Form:
    """Return the form of a plain value of several types."""
    forms = {kind: form_of(kind) for kind in kinds}
    assert all(form.write is None for form in forms.values()), "only plain values are told apart by their type"

    def read(value: Any) -> Any:
        if (form := forms.get(type(value))) is None:
            raise ValueError(f"{cut(repr(value), _SHOWN)} is not {' or '.join(_NAMES[kind] for kind in kinds)}")
        return form.read(value)

    return Form(read)


def _optional(form: Form) -> Form:
    write = form.write
    return Form(
        lambda value: None if value is None else form.read(value),
        None if write is None else lambda value: None if value is None else write(value),
    )


def _list(item: Form) -> Form:
    read, write = item.read, item.write
    if read is _as_it_is:
        return Form(lambda value: _checked(value, list))
    return Form(
        lambda value: [read(each) for each in _checked(value, list)],
        None if write is None else lambda value: [write(each) for each in value],
    )


def _tuple(item: Form) -> Form:
    as_list = _list(item)
    return Form(lambda value: tuple(as_list.read(value)), as_list.write)


def _object(item: Form) -> Form:
    read, write = item.read, item.write
    return Form(
        lambda value: {name: read(each) for name, each in _checked(value, dict).items()},
        None if write is None else lambda value: {name: write(each) for name, each in value.items()},
    )


def _row(items: list[Form], make: Callable[[list[Any]], Any]) -> Form:
    """Return the form of a list of fixed length with plain values; it may be written as a tuple."""
    assert all(item.write is None for item in items), "a row holds plain values"

    def read(value: Any) -> Any:
        if len(_checked(value, list)) != len(items):
            raise ValueError(f"{len(value)} values, expected {len(items)}")
        return make([item.read(each) for item, each in zip(items, value)])

    return Form(read)


def _as_it_is(value: Any) -> Any:
    return value


def _whole_number(value: Any) -> int:
    if not -(1 << 63) <= _checked(value, int) < 1 << 63:
        raise ValueError("a whole number of more than 64 bits")
    return int(value)


def _checked(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise ValueError(f"{cut(repr(value), _SHOWN)} is not {_NAMES[kind]}")
    return value


def _body_of(kind: Any) -> Body | None:
    if kind is Batch:
        return Body()
    metadata = kind.__metadata__ if get_origin(kind) is Annotated else ()
    return next((each for each in metadata if isinstance(each, Body)), None)


def _default_of(field: Any) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _NOTHING if field.default is dataclasses.MISSING else field.default
