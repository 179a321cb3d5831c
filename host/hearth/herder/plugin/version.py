"""Which versions of a plugin a configuration accepts: Maven's version ranges (KIP-891)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hearth.discovery.version_order import compare
from hearth_api import ConfigError

LATEST = "latest"
_RANGE = re.compile(r"\s*(?P<open>[\[(])(?P<inner>[^\[\]()]*)(?P<close>[\])])\s*(?:,|$)")


@dataclass(frozen=True)
class Bounds:
    """One stretch of versions; None leaves a side open."""

    lower: str | None
    is_lower_in: bool
    upper: str | None
    is_upper_in: bool

    def holds(self, version: str) -> bool:
        """Return whether a version lies between the bounds."""
        if self.lower is not None and compare(version, self.lower) < (0 if self.is_lower_in else 1):
            return False
        return self.upper is None or compare(version, self.upper) <= (0 if self.is_upper_in else -1)

    def __str__(self) -> str:
        """Return the bounds as Maven writes them."""
        inner = f"{self.lower or ''},{self.upper or ''}"
        return f"{'[' if self.is_lower_in else '('}{inner}{']' if self.is_upper_in else ')'}"


@dataclass(frozen=True)
class VersionRange:
    """The versions a configuration accepts."""

    bounds: tuple[Bounds, ...]

    @classmethod
    def parse(cls, text: str | None) -> VersionRange | None:
        """Return the range that a text describes, None for the newest version whatever it is.

        A bare version means exactly that one, and a blank text none, as in Kafka Connect, though it is shown as if it
        were all. Raises ConfigError in Maven's words.
        """
        if text is None or text == LATEST:
            return None
        spec = text.strip()
        if not spec:
            return cls(())
        if not spec.startswith(("[", "(")):
            return cls((Bounds(spec, True, spec, True),))
        found = []
        position = 0
        while position < len(spec):
            match = _RANGE.match(spec, position)
            if match is None:
                raise ConfigError(f"Unbounded range: {spec}", code="version.range")
            found.append(_bounds(spec, match))
            position = match.end()
        return cls(tuple(found))

    def newest(self, versions: Iterable[str]) -> str | None:
        """Return the newest of the versions that lie in the range; `versions` has the newest last."""
        fitting = [version for version in versions if any(each.holds(version) for each in self.bounds)]
        return fitting[-1] if fitting else None

    def __str__(self) -> str:
        """Return the range as Maven writes it."""
        return ",".join(str(each) for each in self.bounds) or "[,]"


def _bounds(spec: str, match: re.Match[str]) -> Bounds:
    lower, comma, upper = (part.strip() for part in match["inner"].partition(","))
    is_lower_in, is_upper_in = match["open"] == "[", match["close"] == "]"
    if not comma:
        if not (is_lower_in and is_upper_in):
            raise ConfigError(f"Single version must be surrounded by []: {spec}", code="version.range")
        return Bounds(lower, True, lower, True)
    if lower and upper and (order := compare(upper, lower)) <= 0 and (order < 0 or not (is_lower_in and is_upper_in)):
        raise ConfigError(f"Range defies version ordering: {spec}", code="version.range")
    return Bounds(lower or None, is_lower_in, upper or None, is_upper_in)
