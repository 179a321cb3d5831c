"""Finds the first error in JSON text, with the message of Kafka Connect's reader, and the positions of all tokens.

The rules are those of Jackson 2.21's `UTF8StreamJsonParser`: it works on bytes, looks at the value of a member before
it returns the name, parses a string only when it or what follows is needed, and reports what it found and what it
expected.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

DEPTH = 1000
"""Maximum nesting depth of arrays and objects."""
TOO_DEEP = (
    f"Document nesting depth ({DEPTH + 1}) exceeds the maximum allowed ({DEPTH}, from "
    "`StreamReadConstraints.getMaxNestingDepth()`)"
)
_VALUES = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
_NO_SPACE = "only regular white space (\\r, \\n, \\t) is allowed between tokens"
_NO_COMMENT = (
    "maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' not enabled for parser)"
)
_NO_PLUS = (
    "JSON spec does not allow numbers to have plus signs: enable "
    "`JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow"
)
_NO_NUMBER = "enable `JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS` to allow"
_NO_DIGIT = "expected digit (0-9) to follow minus sign, for valid numeric value"
_SPACE = re.compile(rb"[ \t\r\n]*")
_ROW = re.compile(rb"\r\n|\r|\n")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(rb'["\\/bfnrt]|u[0-9a-fA-F]{4}')
_HEX = re.compile(rb"[0-9a-fA-F]*")
_DIGITS = re.compile(rb"[0-9]*")
_WORD_START = re.compile(r"[^\W\d]|[$\xa2-\xa5]")
_WORD_PART = re.compile(r"[\w$\xa2-\xa5\x00-\x08\x0e-\x1b\x7f-\x9f]")
"""The parts of an identifier in Java, as far as they matter here."""
_MOST_OF_A_WORD = 256
_LEADS = {1: 0b110, 2: 0b1110, 3: 0b11110}
"""Leading bits of the first byte of a character, by the number of bytes that follow."""
_WORDS = {
    b"t": ("true", "VALUE_TRUE", True),
    b"f": ("false", "VALUE_FALSE", False),
    b"n": ("null", "VALUE_NULL", None),
}
_NO_NUMBERS = {b"N": "NaN", b"I": "Infinity"}
_TYPES = {b"{": "Object", b"[": "Array"}
_ENDS = {b"}": b"{", b"]": b"["}
_CLOSERS = {b"{": "}", b"[": "]"}


class Malformed(Exception):
    """The text is not JSON from some byte on."""


@dataclass(frozen=True)
class Token:
    """A token: Jackson's name of its kind, the offset of its first byte, and its value unless it is a string."""

    kind: str
    start: int
    value: Any = None


@dataclass
class Tokens:
    """Reads a text token by token; raises Malformed at the first error."""

    data: bytes
    at: int = 0
    """The offset of the next unread byte."""
    _open: list[tuple[bytes, int]] = field(default_factory=list)
    _kind: str = "null"
    _value_of_name: Token | None = None
    _unread: int | None = None
    _is_first: bool = True

    def next(self) -> Token | None:
        """Return the next token, None at the end."""
        token, self._value_of_name = self._value_of_name, None
        if token is not None:
            return self._taken(token)
        if self._unread is not None:
            self.text()
        start = self._skip()
        if start == len(self.data):
            if self._open:
                raise self._open_end()
            return None
        char = self.data[start : start + 1]
        if char in _ENDS:
            return self._close(char, start)
        if self._open and not self._is_first:
            start = self._behind_comma(char, start)
        if self._open and self._open[-1][0] == b"{":
            return self._member(start)
        return self._taken(self._value(start))

    def text(self) -> str:
        """Return the string that starts at the last token."""
        start, self._unread = self._unread, None
        assert start is not None
        return self._text(start, "string value")

    def skip(self, token: Token) -> None:
        """Skip the rest of an array or object that starts at a token."""
        depth = len(self._open)
        while token.kind.startswith("START") and len(self._open) >= depth:
            self.next()

    def place(self, at: int) -> str:
        """Return a description of a position in the text."""
        rows = [found.end() for found in _ROW.finditer(self.data, 0, at)]
        column = at - (rows[-1] if rows else 0) + 1
        source = "REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)"
        return f"[Source: {source}; line: {len(rows) + 1}, column: {column}]"

    # Tokens -----------------------------------------------------------------------------------------------

    def _taken(self, token: Token) -> Token:
        self._kind = token.kind
        self._is_first = token.kind.startswith("START")
        if self._is_first:
            self._open.append((self.data[token.start : token.start + 1], token.start))
            if len(self._open) > DEPTH:
                raise Malformed(TOO_DEEP)
        if token.kind == "VALUE_STRING":
            self._unread = token.start
        return token

    def _close(self, char: bytes, start: int) -> Token:
        self.at = start + 1
        kind, shown = _TYPES[_ENDS[char]], char.decode()
        if not self._open:
            raise self._malformed(f"Unexpected close marker '{shown}': no open {kind} to close", start)
        opened, begin = self._open[-1]
        if opened != _ENDS[char]:
            where = f"(for {_TYPES[opened]} starting at {self.place(begin)})"
            expected = f"expected '{_CLOSERS[opened]}' {where}"
            raise self._malformed(f"Unexpected close marker '{shown}': {expected}", start)
        self._open.pop()
        self._kind, self._is_first = f"END_{kind.upper()}", False
        return Token(self._kind, start)

    def _member(self, start: int) -> Token:
        if self.data[start : start + 1] != b'"':
            raise self._unexpected(start, "was expecting double-quote to start field name")
        name = self._text(start, "name")
        self._kind = "FIELD_NAME"
        self._value_of_name = self._value(self._behind_colon())
        return Token("FIELD_NAME", start, name)

    def _value(self, start: int) -> Token:
        char = self.data[start : start + 1]
        self.at = start + 1
        if char in _TYPES:
            return Token(f"START_{_TYPES[char].upper()}", start)
        if char == b'"':
            return Token("VALUE_STRING", start)
        if char in _WORDS:
            word, kind, value = _WORDS[char]
            self._match(word, start)
            return Token(kind, start, value)
        if char == b"-" or char.isdigit():
            return self._number(start)
        raise self._no_value(char, start)

    def _text(self, start: int, what: str) -> str:
        """Return the string whose opening quote is at ``start``."""
        at = start + 1
        while self.data[at : at + 1] != b'"':
            found = _PLAIN.match(self.data, at)
            at = at if found is None else found.end()
            char = self.data[at : at + 1]
            if not char:
                raise self._ended(self._open_text(start, what))
            if char < b" ":
                reason = f"has to be escaped using backslash to be included in {what}"
                raise self._malformed(f"Illegal unquoted character ({_shown(char)}): {reason}", at)
            if char == b"\\":
                at = self._escape(at + 1)
        self.at = at + 1
        text: str = json.loads(self._decoded(start, self.at))
        return text

    def _decoded(self, start: int, end: int) -> str:
        try:
            return self.data[start:end].decode()
        except UnicodeDecodeError as error:
            is_first = error.reason == "invalid start byte"
            at = start + (error.start if is_first else error.end)
            reason = f"Invalid UTF-8 {'start' if is_first else 'middle'} byte 0x{self.data[at]:x}"
            raise self._malformed(reason, at + 1) from error

    def _open_text(self, start: int, what: str) -> str:
        if what != "name":
            return f" in {self._kind}"
        return ": was expecting closing '\"' for name" if start + 1 == len(self.data) else " in field name"

    def _escape(self, at: int) -> int:
        if found := _ESCAPE.match(self.data, at):
            return found.end()
        if self.data[at : at + 1] == b"u":
            digits = _HEX.match(self.data, at + 1)
            at = at + 1 if digits is None else digits.end()
            if at < len(self.data):
                raise self._unexpected(at, "expected a hex-digit for character escape sequence")
        if at == len(self.data):
            raise self._ended(" in character escape sequence")
        raise self._malformed(f"Unrecognized character escape {_shown(self._char(at))}", at)

    def _number(self, start: int) -> Token:
        """Return the number at ``start``; its value is its text."""
        at = start + (self.data[start : start + 1] == b"-")
        if at == len(self.data):
            raise self._ended(f" in {self._kind}")
        if not self.data[at : at + 1].isdigit():
            raise self._no_digit(at)
        if self.data[at : at + 1] == b"0" and self.data[at + 1 : at + 2].isdigit():
            raise self._malformed("Invalid numeric value: Leading zeroes not allowed", at + 1)
        at, kind = self._digits(at), "VALUE_NUMBER_INT"
        if self.data[at : at + 1] == b".":
            at, kind = self._some_digits(at + 1, "Decimal point not followed by a digit"), "VALUE_NUMBER_FLOAT"
        if self.data[at : at + 1] in (b"e", b"E"):
            at += 2 if self.data[at + 1 : at + 2] in (b"+", b"-") else 1
            if at == len(self.data):
                raise self._ended(f" in {self._kind}")
            at, kind = self._some_digits(at, "Exponent indicator not followed by a digit"), "VALUE_NUMBER_FLOAT"
        self.at = at
        if not self._open and self.data[at : at + 1].strip():
            raise self._unexpected(at, "Expected space separating root-level values")
        return Token(kind, start, self.data[start:at].decode())

    def _digits(self, at: int) -> int:
        found = _DIGITS.match(self.data, at)
        return at if found is None else found.end()

    def _some_digits(self, at: int, otherwise: str) -> int:
        end = self._digits(at)
        if end == at:
            raise self._unexpected(min(at, len(self.data) - 1), otherwise, " in numeric value")
        return end

    # Between tokens ---------------------------------------------------------------------------------------

    def _skip(self) -> int:
        """Return the offset of the next character that is not white space."""
        found = _SPACE.match(self.data, self.at)
        self.at = at = self.at if found is None else found.end()
        char = self.data[at : at + 1]
        if char and char < b" ":
            raise self._malformed(f"Illegal character ({_shown(char)}): {_NO_SPACE}", at + 1)
        if char == b"/":
            raise self._unexpected(at, _NO_COMMENT)
        return at

    def _behind_comma(self, char: bytes, start: int) -> int:
        if char != b",":
            raise self._unexpected(start, f"was expecting comma to separate {_TYPES[self._open[-1][0]]} entries")
        self.at = start + 1
        return self._go_on()

    def _behind_colon(self) -> int:
        start = self._go_on()
        if self.data[start : start + 1] != b":":
            raise self._unexpected(start, "was expecting a colon to separate field name and value")
        self.at = start + 1
        return self._go_on()

    def _go_on(self) -> int:
        start = self._skip()
        if start == len(self.data):
            raise self._ended(f" within/between {_TYPES[self._open[-1][0]]} entries")
        return start

    # Errors -----------------------------------------------------------------------------------------------

    def _match(self, word: str, start: int) -> None:
        for length in range(1, len(word)):
            if self.data[start + length : start + length + 1] != word[length].encode():
                raise self._unknown_word(start, start + length)
        self.at = start + len(word)
        if self.at < len(self.data) and _WORD_PART.match(self._char(self.at)):
            raise self._unknown_word(start, self.at)

    def _unknown_word(self, start: int, at: int) -> Malformed:
        """Return the error for an unknown word."""
        word = self.data[start:at].decode("latin-1")  # its first byte counts as a character, whatever its value
        while at < len(self.data) and len(word) < _MOST_OF_A_WORD:
            char = self._whole_char(at)
            if not _WORD_PART.match(char):
                break
            at += len(char.encode())
            word += char
        more = "..." if len(word) >= _MOST_OF_A_WORD else ""
        return self._malformed(f"Unrecognized token '{word}{more}': was expecting {_VALUES}", start)

    def _no_value(self, char: bytes, start: int) -> Malformed:
        if char in (b",", b"}") or (char == b"]" and self._open[-1:] and self._open[-1][0] == b"["):
            return self._unexpected(start, "expected a value")
        if char in _NO_NUMBERS:
            return self._no_such_number(start, _NO_NUMBERS[char], start)
        if char == b"+":
            return self._unexpected(start + 1, _NO_PLUS, " in numeric value", "+")
        if _WORD_START.match(char.decode("latin-1")):
            return self._unknown_word(start, start + 1)
        return self._unexpected(start, f"expected a valid value {_VALUES}", char=char.decode("latin-1"))

    def _no_digit(self, at: int) -> Malformed:
        """Return the error for what follows a minus sign; Infinity is parsed, fully or in part."""
        for word in ("INF", "Infinity"):
            if self.data[at : at + 2] == word[:2].encode():
                return self._no_such_number(at - 1, f"-{word}", at - 1)
        return self._unexpected(at + (self.data[at : at + 1] == b"I"), _NO_DIGIT, " in numeric value")

    def _no_such_number(self, start: int, word: str, begin: int) -> Malformed:
        self._match(word, begin)
        return self._malformed(f"Non-standard token '{word}': {_NO_NUMBER}", start + len(word))

    def _whole_char(self, at: int) -> str:
        """Return a character; raise Malformed for invalid UTF-8."""
        first = self.data[at]
        more = 0 if first < 0x80 else next((n for n, lead in _LEADS.items() if first >> (6 - n) == lead), -1)
        if more < 0:
            raise self._malformed(f"Invalid UTF-8 start byte 0x{first:x}", at + 1)
        for place in range(at + 1, at + 1 + more):
            if place == len(self.data):
                raise self._ended(f" in {self._kind}")
            if self.data[place] >> 6 != 0b10:
                raise self._malformed(f"Invalid UTF-8 middle byte 0x{self.data[place]:x}", place + 1)
        return self.data[at : at + 1 + more].decode("utf-8", "replace")[:1]

    def _char(self, at: int) -> str:
        """Return a character; a byte that is invalid in UTF-8 is taken as ISO-8859-1."""
        try:
            return self.data[at : at + 4].decode()[:1]
        except UnicodeDecodeError as error:
            whole = self.data[at : at + error.start] or self.data[at : at + 1]
            return whole.decode("utf-8" if error.start else "latin-1")[:1]

    def _unexpected(self, at: int, waiting_for: str, where: str = "", char: str | None = None) -> Malformed:
        return self._malformed(f"Unexpected character ({_shown(char or self._char(at))}){where}: {waiting_for}", at)

    def _open_end(self) -> Malformed:
        opened, begin = self._open[-1]
        return self._ended(f": expected close marker for {_TYPES[opened]} (start marker at {self.place(begin)})")

    def _ended(self, where: str) -> Malformed:
        return self._malformed(f"Unexpected end-of-input{where}", len(self.data))

    def _malformed(self, message: str, at: int) -> Malformed:
        return Malformed(f"{message}\n at {self.place(at)}")


def _shown(char: bytes | str) -> str:
    text = char.decode("latin-1") if isinstance(char, bytes) else char
    code = ord(text)
    if code < 32 or 127 <= code < 160:
        return f"(CTRL-CHAR, code {code})"
    return f"'{text}' (code {code} / 0x{code:x})" if code > 255 else f"'{text}' (code {code})"
