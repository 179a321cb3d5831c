"""Media types in requests, parsed by the rules of Java's JAX-RS server (Jersey)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException

JSON = "application/json"
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_RANGE = re.compile(
    rf"\s*(?P<kind>{_WORD})(?:/(?P<part>{_WORD}))?\s*(?P<parameters>(?:;\s*(?:{_WORD}=(?:{_WORD}|{_QUOTED})\s*)?)*)"
)
_PARAMETER = re.compile(rf"({_WORD})=({_WORD}|{_QUOTED})")
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|\.[0-9]{1,3}|1(\.0{0,3})?")
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class MediaRange:
    """A media range, either part of which may be `*`; the names of parameters are in lower case."""

    kind: str
    part: str
    parameters: dict[str, str] = field(default_factory=dict)

    def takes(self, media_type: str) -> bool:
        """Return whether the range contains a media type; quality is ignored."""
        kind, _, part = media_type.partition("/")
        return self.kind == "*" or (self.kind.lower() == kind and self.part.lower() in ("*", part))

    @property
    def is_json(self) -> bool:
        """Return whether content of this type is read as JSON."""
        return self.takes(JSON) and self.part.lower() == "json"

    @property
    def name(self) -> str:
        """Return the type without parameters, in lower case."""
        return f"{self.kind}/{self.part}".lower()

    @property
    def particular(self) -> str | None:
        """Return the text of a complete type with parameters other than `q`, which the response repeats."""
        more = [f";{name}={_written(text)}" for name, text in self.parameters.items() if name != "q"]
        return f"{self.kind}/{self.part}{''.join(more)}" if more and "*" not in self.name else None

    @property
    def rank(self) -> tuple[float, int]:
        """Return the quality, from 0 to 1, and how specific the range is."""
        text = self.parameters.get("q", "1")
        return float(f"0{text}"), 2 - (self.kind, self.part).count("*")


def content_range(text: str) -> MediaRange:
    """Return the type in a `Content-Type` header; raise HTTPException (400) if it is invalid."""
    found = _RANGE.fullmatch(text)
    if found is None or found["part"] is None:
        raise HTTPException(400)
    return _made(found)


def accepted(text: str) -> list[MediaRange]:
    """Return the ranges in an `Accept` header by preference, all types if it is empty.

    Raises HTTPException (400) for an invalid type or quality; a trailing comma is allowed.
    """
    ranges = list(_split(text)) if text.strip() else [MediaRange("*", "*")]
    if not all(_QUALITY.fullmatch(each.parameters.get("q", "1")) for each in ranges):
        raise HTTPException(400)
    return sorted(ranges, key=lambda each: each.rank, reverse=True)


def _split(text: str) -> Iterator[MediaRange]:
    start = 0
    while start < len(text):
        found = _RANGE.match(text, start)
        if found is None or text[found.end() : found.end() + 1] not in ("", ","):
            raise HTTPException(400)
        yield _made(found)
        start = found.end() + 1


def _made(found: re.Match[str]) -> MediaRange:
    parameters = {name.lower(): _plain(text) for name, text in _PARAMETER.findall(found["parameters"])}
    return MediaRange(found["kind"], found["part"] or "*", parameters)


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text[1:-1]) if text.startswith('"') else text


def _written(text: str) -> str:
    if re.fullmatch(f"({_WORD})?", text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
