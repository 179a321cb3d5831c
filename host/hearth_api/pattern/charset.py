"""Sets of characters as Java's regular expressions name them: `\\p{Alpha}`, `[a-z&&[^b]]`.

A *fragment* is the content of a Python class in brackets; an *expression* matches one character.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable

LINE_ENDS = r"\n\r\x85\u2028\u2029"
ANY = r"[\s\S]"
# Escapes for sets, as fragments; the capital letter is the complement.
SETS = {
    "d": r"\d",
    "w": r"\w",
    "s": r"\s",
    "h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": rf"\x0b\f{LINE_ENDS}",
}
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_PREDICATES: dict[str, Callable[[str], bool]] = {
    "IsAlphabetic": str.isalpha,
    "IsLetter": str.isalpha,
    "IsLowercase": str.islower,
    "IsUppercase": str.isupper,
    "IsDigit": str.isdecimal,
    "IsWhite_Space": str.isspace,
    "javaLetter": str.isalpha,
    "javaLowerCase": str.islower,
    "javaUpperCase": str.isupper,
    "javaDigit": str.isdecimal,
    "javaLetterOrDigit": str.isalnum,
    "javaWhitespace": str.isspace,
}
_CATEGORIES = {"L", "M", "N", "P", "S", "Z", "C"} | {
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe"),
    *("Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"),
}


def expression(fragment: str, negated: bool = False) -> str:
    """Return the class with a fragment as content."""
    if not fragment:
        return ANY if negated else "(?!)"
    return f"[{'^' if negated else ''}{fragment}]"


def union(members: Iterable[str]) -> str:
    """Return an expression for the characters of any member; members are expressions."""
    listed = list(members)
    return listed[0] if len(listed) == 1 else f"(?:{'|'.join(listed)})"


def intersection(members: Iterable[str]) -> str:
    """Return an expression for the characters of every member."""
    *others, last = members
    return f"(?:{''.join(f'(?={other})' for other in others)}{last})" if others else last


def complement(member: str) -> str:
    """Return an expression for all other characters."""
    if member.startswith("[") and not member.startswith("[^"):
        return f"[^{member[1:]}"
    return f"(?:(?!{member}){ANY})"


def property_fragment(name: str) -> str | None:
    """Return the characters of `\\p{NAME}` as a fragment, `None` if the name is unknown."""
    if name in _POSIX:
        return _POSIX[name]
    if name in _PREDICATES:
        return _ranges(name)
    category = name.removeprefix("Is").removeprefix("general_category=").removeprefix("gc=")
    return _ranges(category) if category in _CATEGORIES else None


@functools.lru_cache(maxsize=64)
def _ranges(name: str) -> str:
    """Return the ranges of a property, found by testing every code point once."""
    has: Callable[[str], bool]
    has = _PREDICATES.get(name) or (lambda char: unicodedata.category(char).startswith(name))
    ranges: list[str] = []
    first: int | None = None
    for code in range(sys.maxunicode + 2):
        if code <= sys.maxunicode and has(chr(code)):
            first = code if first is None else first
        elif first is not None:
            ranges.append(f"{re.escape(chr(first))}-{re.escape(chr(code - 1))}")
            first = None
    return "".join(ranges)
