"""The grammar of Java's regular expressions, translated to Python's in one pass."""

from __future__ import annotations

import re
import sys

from hearth_api.pattern.bracket import BracketReader
from hearth_api.pattern.charset import ANY, LINE_ENDS, expression

_MOST_REPEATS = 2**31 - 1
_ANCHORS = {
    "A": r"\A",
    "b": r"\b",
    "B": r"\B",
    "G": r"\A",  # the end of the last match; the start for the first one
    "z": r"\Z",
    "Z": rf"(?=(?:\r\n|[{LINE_ENDS}])?\Z)",
    "R": rf"(?:\r\n|[\x0b\f{LINE_ENDS}])",
}
_QUOTED = re.compile(r"\\\\|\\Q(.*?)(?:\\E|\Z)", re.S)
_FLAGS = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]*))?\)")
_FLAG_LETTERS = tuple("idmsuxU-")
_ATOMIC = re.compile(r"\(\?>|[*+?}]\+")
_ATOMIC_SINCE = (3, 11)
"""The first Python version with atomic groups."""
OWN_GROUP = "_own"
"""Prefix of the names of groups that emulate atomic groups before Python 3.11."""


def translate(text: str) -> str:
    """Return a Java regular expression as a Python one; an invalid one raises `PatternError` with Java's message."""
    return _Translator(_QUOTED.sub(_unquote, text), text).whole()


def _unquote(match: re.Match[str]) -> str:
    quoted: str | None = match[1]
    if quoted is None:
        return match[0]
    return "".join(char if char.isalnum() or ord(char) > 0x7F else "\\" + char for char in quoted)


def _is_digit(char: str) -> bool:
    return char.isascii() and char.isdigit()


class _Translator(BracketReader):
    """Translates one expression; each method returns Python's form of what it read."""

    def __init__(self, text: str, original: str) -> None:
        super().__init__(text, original)
        self.groups: list[str | None] = []
        """The name by which each group is referenced, None for its number."""
        self.names: set[str] = set()
        self.own_groups = 0
        self.has_own_groups = sys.version_info < _ATOMIC_SINCE and _ATOMIC.search(text) is not None

    def whole(self) -> str:
        translated = self.alternatives()
        if self.at < len(self.text):
            self.fail("Unmatched closing ')'", self.at - 1)
        return translated

    def alternatives(self) -> str:
        """Read up to the end of the group; flags set inside it hold across alternatives until then."""
        before = self.flags
        out: list[str] = []
        opened: list[str] = []
        while self.peek() not in ("", ")"):
            if self.skips_blank():
                continue
            if self.peek() == "|":
                self.take()
                out += [")" * len(opened), "|", *opened]
            elif flags := self.flags_alone():
                opened.append(flags)
                out.append(flags)
            else:
                out.append(self.quantified(self.atom()))
        self.flags = before
        return "".join(out) + ")" * len(opened)

    def flags_alone(self) -> str | None:
        """Read `(?i)`, which holds for the rest of the group, as the start of a group."""
        match = _FLAGS.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return self.set_flags(match[1], match[2] or "")

    def set_flags(self, added: str, removed: str) -> str:
        """Return the start of a group with flags; those for dots and blanks are translated instead."""
        if "U" in added:
            self.fail("Pattern is not supported, flag U", self.at - 1)
        self.flags = (self.flags | set(added)) - set(removed)
        on, off = ("".join(flag for flag in "im" if flag in given) for given in (added, removed))
        return f"(?{on}-{off}:" if off else f"(?{on}:"

    def atom(self) -> str:
        char = self.peek()
        if char in tuple("*+?"):
            self.fail(f"Dangling meta character '{char}'")
        if char == "{":
            return self.nothing()
        self.take()
        if char == "(":
            return self.group()
        if char == "[":
            return self.bracketed()
        if char == "\\":
            return self.escape()
        if char == ".":
            return ANY if "s" in self.flags else r"[^\n]" if "d" in self.flags else f"[^{LINE_ENDS}]"
        return char if char in tuple("^$") else re.escape(char)

    def nothing(self) -> str:
        """Read an empty atom before a counted repetition, as Java does."""
        if not _is_digit(self.peek(1)):
            self.fail("Illegal repetition", self.at + 1)
        return ""

    def group(self) -> str:
        before = self.flags
        opening = self.group_opening() if self.peek() == "?" else self.numbered_opening()
        inner = self.alternatives()
        self.flags = before
        if self.peek() != ")":
            self.fail("Unclosed group")
        self.take()
        return self.atomic(inner) if opening == "(?>" else f"{opening}{inner})"

    def atomic(self, inner: str) -> str:
        """Return a group that matches `inner` as it first matches, without backtracking into it.

        A lookahead is never backtracked into, so before Python 3.11 a backreference matches what a lookahead captured.
        """
        if not self.has_own_groups:
            return f"(?>{inner})"
        self.own_groups += 1
        name = f"{OWN_GROUP}{self.own_groups}"
        return f"(?:(?=(?P<{name}>{inner}))(?P={name}))"

    def numbered_opening(self) -> str:
        # The emulation groups shift the user's group numbers, but not names.
        name = f"_{len(self.groups) + 1}" if self.has_own_groups else None
        self.groups.append(name)
        return "(" if name is None else f"(?P<{name}>"

    def group_opening(self) -> str:
        """Read the group type after the parenthesis, such as `?:`, `?<name>` or `?i:`."""
        self.take()
        if self.peek() in tuple(":=!>"):
            return f"(?{self.take()}"
        if self.peek() == "<" and self.peek(1) in tuple("=!"):
            return f"(?{self.take(2)}"
        if self.peek() == "<":
            self.take()
            return self.named_opening()
        start = self.at
        while self.peek() in _FLAG_LETTERS:
            self.take()
        if self.take() != ":":
            self.fail("Unknown inline modifier", self.at - 1)
        added, _, removed = self.text[start : self.at - 1].partition("-")
        return self.set_flags(added, removed)

    def named_opening(self) -> str:
        name = self.group_name()
        if name in self.names:
            self.fail(f"Named capturing group <{name}> is already defined", self.at - 1)
        self.names.add(name)
        self.groups.append(name)
        return f"(?P<{name}>"

    def group_name(self) -> str:
        start = self.at
        if not (self.peek().isascii() and self.peek().isalpha()):
            self.fail("capturing group name does not start with a Latin letter")
        while self.peek().isascii() and self.peek().isalnum():
            self.take()
        if self.peek() != ">":
            self.fail("named capturing group is missing trailing '>'")
        self.take()
        return self.text[start : self.at - 1]

    def quantified(self, atom: str) -> str:
        """Read `*`, `+`, `?` or `{n,m}` and its suffix, if they follow."""
        while self.skips_blank():
            pass
        if self.peek() == "{":
            quantifier = self.counted()
        elif self.peek() in tuple("*+?"):
            quantifier = self.take()
        else:
            return atom
        # Python cannot repeat an anchor outside a group.
        repeated = f"(?:{atom}){quantifier}"
        if self.peek() == "+":
            self.take()
            return self.atomic(repeated)
        return repeated + (self.take() if self.peek() == "?" else "")

    def counted(self) -> str:
        self.take()
        if not _is_digit(self.peek()):
            self.fail("Illegal repetition")
        least = most = self.count()
        open_ended = False
        if self.peek() == ",":
            self.take()
            open_ended = not _is_digit(self.peek())
            most = least if open_ended else self.count()
        if self.peek() != "}":
            self.fail("Unclosed counted closure")
        if most < least:
            self.fail("Illegal repetition range")
        self.take()
        return f"{{{least},{'' if open_ended else most}}}"

    def count(self) -> int:
        number = 0
        while _is_digit(self.peek()):
            number = number * 10 + int(self.peek())
            if number > _MOST_REPEATS:
                self.fail("Illegal repetition range")
            self.take()
        return number

    def escape(self) -> str:
        """Read an escape outside brackets, after its backslash."""
        char = self.peek()
        if char in _ANCHORS:
            self.take()
            return _ANCHORS[char]
        if char == "k":
            return self.named_reference()
        if _is_digit(char) and char != "0":
            return self.reference()
        if (fragment := self.set_escape()) is not None:
            return expression(*fragment)
        return re.escape(self.char_escape())

    def named_reference(self) -> str:
        self.take()
        if self.peek() != "<":
            self.fail("\\k is not followed by '<' for named capturing group")
        self.take()
        name = self.group_name()
        if name not in self.names:
            self.fail(f"named capturing group <{name}> does not exist", self.at - 1)
        return f"(?P={name})"

    def reference(self) -> str:
        """Read a group number; further digits belong to it only if such a group exists."""
        number = int(self.take())
        while _is_digit(self.peek()) and number * 10 + int(self.peek()) <= len(self.groups):
            number = number * 10 + int(self.take())
        if number > len(self.groups):
            return "(?!)"
        name = self.groups[number - 1]
        return rf"(?:\{number})" if name is None else f"(?P={name})"
