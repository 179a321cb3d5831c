"""Version ranges of plugins in a configuration: Maven's syntax (KIP-891) or Python's (PEP 440)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from hearth.discovery.version_order import compare
from hearth_api import ConfigError

LATEST = "latest"
_OPERATORS = tuple("<>=!~")
"""First characters of a PEP 440 range, with which no version and no Maven range starts."""
_END = re.compile(r"[\])]")


@dataclass(frozen=True)
class Bounds:
    """An interval of versions; None leaves a side open."""

    lower: str | None
    is_lower_in: bool
    upper: str | None
    is_upper_in: bool

    def holds(self, version: str) -> bool:
        """Return whether the interval contains a version."""
        if self.lower is not None and compare(version, self.lower) < (0 if self.is_lower_in else 1):
            return False
        return self.upper is None or compare(version, self.upper) <= (0 if self.is_upper_in else -1)

    def __str__(self) -> str:
        """Return the interval in Maven's syntax."""
        inner = f"{self.lower or ''},{self.upper or ''}"
        return f"{'[' if self.is_lower_in else '('}{inner}{']' if self.is_upper_in else ')'}"


@dataclass(frozen=True)
class Specifiers:
    """PEP 440 version specifiers such as ``>=1.2,<2``, ``~=1.2`` and ``==1.*``, in PEP 440's order."""

    wanted: SpecifierSet

    def holds(self, version: str) -> bool:
        """Return whether the specifiers accept a version; they accept pre-releases only if they name one."""
        return self.wanted.contains(version)

    def __str__(self) -> str:
        """Return the specifiers in PEP 440's syntax."""
        return str(self.wanted)


@dataclass(frozen=True)
class VersionRange:
    """The versions a configuration accepts."""

    sets: tuple[Bounds | Specifiers, ...]

    @classmethod
    def parse(cls, text: str | None) -> VersionRange | None:
        """Return the range for a text, or None for the newest version.

        As in Kafka Connect, a bare version means exactly that one, and a blank text matches no version although it is
        shown as all. Raises ConfigError, with Maven's message for a Maven range.
        """
        if text is None or text == LATEST:
            return None
        spec = text.strip()
        if not spec:
            return cls(())
        if spec.startswith(_OPERATORS):
            return cls((_specifiers(spec),))
        return cls(tuple(_sets(spec if spec.startswith(("[", "(")) else f"[{spec}]")))

    def newest(self, versions: Iterable[str]) -> str | None:
        """Return the newest accepted version; `versions` has the newest last."""
        fitting = [version for version in versions if any(each.holds(version) for each in self.sets)]
        return fitting[-1] if fitting else None

    def __str__(self) -> str:
        """Return the range in its original syntax."""
        return ",".join(str(each) for each in self.sets) or "[,]"


def _specifiers(spec: str) -> Specifiers:
    try:
        return Specifiers(SpecifierSet(spec))
    except InvalidSpecifier as error:
        raise _invalid("Neither a Maven version range nor one of PEP 440", spec) from error


def _sets(spec: str) -> Iterator[Bounds]:
    """Yield the sets of versions, which need no comma between them."""
    rest, upper = spec, None
    while rest.startswith(("[", "(")):
        end = _END.search(rest)
        if end is None:
            raise _invalid("Unbounded range", spec)
        found = _bounds(rest[: end.end()])
        if upper is not None and (found.lower is None or compare(found.lower, upper) < 0):
            raise _invalid("Ranges overlap", spec)
        yield found
        upper = found.upper
        rest = rest[end.end() :].strip().removeprefix(",").strip()
    if rest:
        raise _invalid("Only fully-qualified sets allowed in multiple set scenario", spec)


def _bounds(spec: str) -> Bounds:
    lower, comma, upper = (part.strip() for part in spec[1:-1].partition(","))
    is_lower_in, is_upper_in = spec[0] == "[", spec[-1] == "]"
    if not comma:
        if not (is_lower_in and is_upper_in):
            raise _invalid("Single version must be surrounded by []", spec)
        return Bounds(lower, True, lower, True)
    if lower and upper and (order := compare(upper, lower)) <= 0 and (order < 0 or not (is_lower_in and is_upper_in)):
        raise _invalid("Range defies version ordering", spec)
    return Bounds(lower or None, is_lower_in, upper or None, is_upper_in)


def _invalid(why: str, spec: str) -> ConfigError:
    return ConfigError(f"{why}: {spec}", code="version.range")
