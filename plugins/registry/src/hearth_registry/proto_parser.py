"""Parses Protobuf files of any language version, as far as payloads require.

Services, extensions, reserved names and options without effect on payloads are skipped. An invalid file raises
`PayloadError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hearth_registry.proto_file import PROTO2, PROTO3, REPEATED, ProtoEnum, ProtoField, ProtoFile, ProtoMessage
from hearth_registry.schema_format import PayloadError

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<word>[.\w]+)|(?P<mark>.)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_LABELS = ("optional", "required", "repeated")
_OPENING, _CLOSING = "{[<(", "}]>)"
_DEEPEST = 100
PARTS_AT_MOST = 1_000_000
"""Maximum number of tokens."""
_META = "(confluent.field_meta)"


def parse_proto(text: str) -> ProtoFile:
    """Parse a file without resolving types."""
    try:
        return _Parser(list(_tokens(text))).file()
    except (TypeError, ValueError, OverflowError) as error:
        raise PayloadError("Protobuf schema has options or numbers that cannot be read") from error


def _tokens(text: str) -> Iterator[str]:
    count = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup is not None:
            count += 1
            if count > PARTS_AT_MOST:
                raise PayloadError(f"Protobuf schema has more than {PARTS_AT_MOST} words")
            yield match.group()


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = self._depth = 0

    def file(self) -> ProtoFile:
        file = ProtoFile()
        while self._at < len(self._tokens):
            word = self._next()
            if word in ("syntax", "edition"):
                self._expect("=")
                version = self._text()
                file.syntax = version if version in (PROTO2, PROTO3) else PROTO3
                self._expect(";")
            elif word == "package":
                file.package = self._next()
                self._expect(";")
            elif word == "import":
                self._import(file)
            elif word == "message":
                file.messages.append(self._message())
            elif word == "enum":
                file.enums.append(self._enum())
            elif word in ("option", "service", "extend"):
                self._skip()
            elif word != ";":
                raise self._unexpected(word)
        return file

    def _import(self, file: ProtoFile) -> None:
        kind = self._next() if self._peek() in ("public", "weak") else ""
        (file.public_imports if kind == "public" else file.imports).append(self._text())
        self._expect(";")

    def _message(self, name: str | None = None) -> ProtoMessage:
        message = ProtoMessage(self._identifier() if name is None else name)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PayloadError("Protobuf schema is nested too deep")
        self._expect("{")
        while (word := self._next()) != "}":
            self._member(message, word)
        self._depth -= 1
        return message

    def _member(self, message: ProtoMessage, word: str) -> None:
        if word == "message" and self._peek(1) == "{":
            message.messages.append(self._message())
        elif word == "enum" and self._peek(1) == "{":
            message.enums.append(self._enum())
        elif word == "oneof" and self._peek(1) == "{":
            self._oneof(message)
        elif word in ("option", "reserved", "extensions") or (word == "extend" and self._peek(1) == "{"):
            self._skip()
        elif word == "map" and self._peek() == "<":
            self._map(message)
        elif word != ";":
            label = word if word in _LABELS else None
            self._field(message, label, self._next() if label else word, None)

    def _oneof(self, message: ProtoMessage) -> None:
        name = self._identifier()
        message.oneofs.append(name)
        self._expect("{")
        while (word := self._next()) != "}":
            if word == "option":
                self._skip()
            elif word != ";":
                self._field(message, None, word, name)

    def _map(self, message: ProtoMessage) -> None:
        self._expect("<")
        key = self._next()
        self._expect(",")
        value = self._next()
        self._expect(">")
        name = self._identifier()
        entry = ProtoMessage("".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Entry")
        entry.fields += [ProtoField("key", key, 1), ProtoField("value", value, 2)]
        message.entries.append(entry)
        message.fields.append(self._numbered(ProtoField(name, entry.name, 0, REPEATED)))

    def _field(self, message: ProtoMessage, label: str | None, type_: str, oneof: str | None) -> None:
        name = self._identifier()
        if type_ != "group":
            message.fields.append(self._numbered(ProtoField(name, type_, 0, label, oneof)))
            return
        raise PayloadError(f"Protobuf schema has a group, which is not read: {name!r}")

    def _numbered(self, field: ProtoField) -> ProtoField:
        self._expect("=")
        word = self._next()
        try:
            field.number = int(word, 0)
        except ValueError as error:
            raise self._unexpected(word) from error
        if self._peek() == "[":
            self._next()
            self._options(field)
        self._expect(";")
        return field

    def _options(self, field: ProtoField) -> None:
        params: dict[str, str] = {}
        while True:
            name = self._option_name()
            value = self._value()
            if name == "default":
                field.default = value if isinstance(value, str) else None
            elif name == "packed":
                field.is_packed = value == "true"
            elif name.startswith(_META):
                params.update(_params(name, value))
            if self._next() == "]":
                field.params = params
                return

    def _option_name(self) -> str:
        parts = []
        while (word := self._next()) != "=":
            parts.append(word)
        return "".join(parts)

    def _value(self) -> Any:
        """Return the value of an option: a string, a list, or an object as a list of pairs."""
        word = self._next()
        if word in ("{", "<"):
            return self._pairs("}" if word == "{" else ">")
        if word == "[":
            values = []
            while self._peek() != "]":
                values.append(self._value())
                if self._peek() == ",":
                    self._next()
            self._next()
            return values
        if word[0] in "\"'":
            texts = [_unquoted(word)]
            while self._peek()[:1] in ('"', "'") and self._peek():
                texts.append(_unquoted(self._next()))
            return "".join(texts)
        return word + self._next() if word in ("-", "+") else word

    def _pairs(self, closing: str) -> list[tuple[str, Any]]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PayloadError("Protobuf schema is nested too deep")
        pairs = []
        while (word := self._next()) != closing:
            if word in (",", ";"):
                continue
            if word == "[":
                while self._next() != "]":
                    continue
            if self._peek() == ":":
                self._next()
            pairs.append((word, self._value()))
        self._depth -= 1
        return pairs

    def _enum(self) -> ProtoEnum:
        enum = ProtoEnum(self._identifier())
        self._expect("{")
        while (word := self._next()) != "}":
            if word in ("option", "reserved") and self._peek() != "=":
                self._skip()
            elif word != ";":
                self._expect("=")
                number = self._next()
                number = number + self._next() if number == "-" else number
                try:
                    enum.values.append((word, int(number, 0)))
                except ValueError as error:
                    raise self._unexpected(number) from error
                if self._peek() == "[":
                    self._skip_block()
                self._expect(";")
        return enum

    def _skip(self) -> None:
        """Skip a statement: to its semicolon or the end of its block."""
        while True:
            word = self._peek()
            if word == ";":
                self._next()
                return
            if word in ("{", "[", "("):
                self._skip_block()
                if word == "{" and self._peek() != ";":
                    return
            else:
                self._next()

    def _skip_block(self) -> None:
        depth = 0
        while True:
            word = self._next()
            depth += (word in _OPENING) - (word in _CLOSING)
            if depth == 0:
                return

    def _identifier(self) -> str:
        word = self._next()
        if not (word.isidentifier() and word.isascii()):
            raise self._unexpected(word)
        return word

    def _text(self) -> str:
        word = self._next()
        if word[0] not in "\"'":
            raise self._unexpected(word)
        return _unquoted(word)

    def _expect(self, mark: str) -> None:
        word = self._next()
        if word != mark:
            raise self._unexpected(word)

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise PayloadError("Protobuf schema ends too soon")
        self._at += 1
        return self._tokens[self._at - 1]

    def _unexpected(self, word: str) -> PayloadError:
        return PayloadError(f"Protobuf schema has an unexpected {word[:50]!r}")


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return chr(int(escape, 8)) if escape[0] in "01234567" else _ESCAPED.get(escape, escape)


def _params(name: str, value: Any) -> dict[str, str]:
    """Return the parameters in a field option, which has all of them or a single one."""
    rest = name[len(_META) :].lstrip(".")
    entries = [value] if rest == "params" else [item for key, item in value if key == "params"] if not rest else []
    found: dict[str, str] = {}
    for entry in entries:
        # One entry, or a list of several.
        for each in entry if entry and isinstance(entry[0], list) else [entry]:
            pair = dict(each)
            found[str(pair.get("key", ""))] = str(pair.get("value", ""))
    return found
