"""Character classes in brackets: unions, nested classes, intersection with `&&`, and negation."""

from __future__ import annotations

import re

from hearth_api.pattern.charset import complement, expression, intersection, union
from hearth_api.pattern.reader import Reader


class BracketReader(Reader):
    """Reads character classes; lookahead and alternatives replace forms that Python lacks."""

    def bracketed(self) -> str:
        """Read a class after its opening bracket: unions, nested classes, `&&`, and negation of the whole."""
        negated = self.peek() == "^"
        if negated:
            self.take()
        operands = self.operands()
        found = intersection(operands) if operands else expression("")
        return complement(found) if negated else found

    def operands(self) -> list[str]:
        """Read the parts between `&&` as expressions, up to the closing bracket."""
        operands: list[str] = []
        fragments: list[str] = []
        members: list[str] = []
        first = True
        while first or self.peek() != "]":
            if not self.peek():
                self.fail("Unclosed character class", len(self.text) - 1)
            if self.peek() == "&" and self.peek(1) == "&":
                self.take(2)
                self.operand(operands, fragments, members)
            elif self.peek() == "[":
                self.take()
                members.append(self.bracketed())
            elif not ("x" in self.flags and self.skips_blank()):
                self.item(fragments, members)
            first = False
        self.take()
        self.operand(operands, fragments, members)
        return operands

    @staticmethod
    def operand(operands: list[str], fragments: list[str], members: list[str]) -> None:
        if fragments:
            members.insert(0, expression("".join(fragments)))
        if members:
            operands.append(union(members))
        fragments.clear()
        members.clear()

    def item(self, fragments: list[str], members: list[str]) -> None:
        """Read one character, range or set."""
        low = self.class_char()
        if isinstance(low, tuple):
            fragment, negated = low
            if negated:
                members.append(expression(fragment, negated))
            else:
                fragments.append(fragment)
            return
        if self.peek() != "-" or self.peek(1) in ("", "]", "["):
            fragments.append(re.escape(low))
            return
        self.take()
        index = self.at
        high = self.class_char()
        if isinstance(high, tuple) or high < low:
            self.fail("Illegal character range", index)
        fragments.append(f"{re.escape(low)}-{re.escape(high)}")

    def class_char(self) -> str | tuple[str, bool]:
        char = self.take()
        if char != "\\":
            return char
        found = self.set_escape()
        return self.char_escape() if found is None else found
