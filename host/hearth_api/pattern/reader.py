"""Reads an expression character by character, with its escapes in and outside brackets."""

from __future__ import annotations

import re
import unicodedata
from typing import NoReturn

from hearth_api.pattern.charset import SETS, property_fragment
from hearth_api.pattern.error import PatternError

_CHARS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CODES = {
    "0": re.compile(r"[0-3][0-7]{2}|[0-7]{1,2}"),
    "x": re.compile(r"[0-9a-fA-F]{2}|\{[0-9a-fA-F]+\}"),
    "u": re.compile(r"[0-9a-fA-F]{4}"),
    "N": re.compile(r"\{[^}]*\}"),
    "c": re.compile(r".", re.S),
}


class Reader:
    """A position in the expression; each method consumes what its name says."""

    def __init__(self, text: str, original: str) -> None:
        """Start at the beginning of `text`; messages show `original`."""
        self.text = text
        self.original = original
        self.at = 0
        self.flags: frozenset[str] = frozenset()

    def fail(self, what: str, index: int | None = None) -> NoReturn:
        raise PatternError(what, self.original, self.at if index is None else index)

    def peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def take(self, count: int = 1) -> str:
        taken = self.text[self.at : self.at + count]
        self.at += count
        return taken

    def skips_blank(self) -> bool:
        if "x" not in self.flags or self.peek() not in tuple(" \t\n\x0b\f\r#"):
            return False
        if self.take() == "#":
            while self.peek() not in ("", "\n"):
                self.take()
        return True

    def set_escape(self) -> tuple[str, bool] | None:
        """Read an escape for a set; return its fragment and whether it is negated."""
        char = self.peek()
        if char and char.lower() in SETS:
            self.take()
            return SETS[char.lower()], char.isupper()
        if char in ("p", "P"):
            self.take()
            return self.property(), char == "P"
        return None

    def property(self) -> str:
        name = self.take()
        if name == "{":
            end = self.text.find("}", self.at)
            if end < 0:
                self.fail("Unclosed character family", len(self.text) - 1)
            name = self.take(end - self.at)
            self.take()
        fragment = property_fragment(name)
        if fragment is None:
            self.fail(f"Unknown character property name {{{name}}}", self.at - 1)
        return fragment

    def char_escape(self) -> str:
        """Read an escape for one character."""
        char = self.take()
        if not char:
            self.fail("Unexpected internal error", len(self.text))
        if char in _CHARS:
            return _CHARS[char]
        if char in tuple("0xuc") or (char == "N" and self.peek() == "{"):
            return self.coded(char)
        if char.isascii() and char.isalnum():
            self.fail("Illegal/unsupported escape sequence", self.at - 1)
        return char

    def coded(self, kind: str) -> str:
        """Read a character given by its code or name."""
        match = _CODES[kind].match(self.text, self.at)
        if match is None:
            self.fail("Illegal escape sequence")
        self.at = match.end()
        if kind == "c":
            return chr(ord(match[0]) ^ 64)
        code = match[0].strip("{}")
        try:
            return unicodedata.lookup(code) if kind == "N" else chr(int(code, 8 if kind == "0" else 16))
        except (KeyError, ValueError, OverflowError):
            self.fail("Illegal escape sequence", self.at - 1)
