"""Bundle indexes, local directories or addresses: search them and find the newest version this host supports."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from hearth.discovery import Bundle, Rejected, read
from hearth.discovery.location import candidates
from hearth.discovery.version_order import version_key
from hearth.packaging.index_entry import IndexEntry, entry_of
from hearth_api import ConfigError, NotFoundError

VARIABLE = "HEARTH_INDEX"
_LISTED = re.compile(rf"\s*(https?://\S+|[^{os.pathsep}]+)")


def named_indexes(options: Sequence[str] = ()) -> list[str]:
    """Return the given indexes, else those in ``HEARTH_INDEX``.

    The variable separates directories as ``PATH`` does; an address extends to the next whitespace.
    """
    listed = _LISTED.findall(os.environ.get(VARIABLE, ""))
    return list(options) or [each.strip() for each in listed if each.strip()]


def is_address(index: str) -> bool:
    """Return whether an index is an address instead of a directory."""
    return "://" in index


def bundles_in(folder: Path) -> Iterator[Bundle]:
    """Yield the readable bundles of a directory; raise ``ConfigError`` if the directory does not exist."""
    for candidate in candidates([folder]):
        if isinstance(candidate, Rejected):
            raise ConfigError(
                f"the index {candidate.location} cannot be read: {candidate.reason}", hint=candidate.hint
            )
        found = read(candidate, is_named=False)
        if isinstance(found, Bundle):
            yield found


def entries(indexes: Sequence[str]) -> Iterator[IndexEntry]:
    """Yield all entries of the indexes; raise ``ConfigError`` for an invalid index."""
    for index in indexes:
        if is_address(index):
            from hearth.packaging.index_file import read_index  # not needed for directories

            yield from read_index(index)
        else:
            yield from map(entry_of, bundles_in(Path(index).absolute()))


def search(text: str, indexes: Sequence[str]) -> list[IndexEntry]:
    """Return the bundles whose name or a plugin class contains a string, by name and version."""
    wanted = text.lower()
    found = (each for each in entries(indexes) if any(wanted in name.lower() for name in (each.name, *each.plugins)))
    return sorted(found, key=lambda each: (canonicalize_name(each.name), version_key(each.version)))


def find(text: str, indexes: Sequence[str]) -> IndexEntry:
    """Return the newest bundle that satisfies a requirement (``orders``, ``orders>=1.2``) and runs on this host.

    Pre-releases count if the requirement names one or nothing else exists, as in pip and uv. Raises ``NotFoundError``
    that lists the available versions and why they do not fit.
    """
    wanted = requirement(text)
    if wanted.extras:
        raise ConfigError(f"{text!r} names extras, and a bundle holds all that it needs", hint=f"write {wanted.name}")
    same = [each for each in entries(indexes) if canonicalize_name(each.name) == canonicalize_name(wanted.name)]
    fitting = list(wanted.specifier.filter(same, key=lambda each: each.version))
    for each in sorted(fitting, key=lambda each: version_key(each.version), reverse=True):
        unmet = each.unmet
        if not unmet:
            return each
    where = ", ".join(indexes)
    if fitting:
        raise NotFoundError(
            f"no {wanted} in {where} is for this host: the newest requires {', '.join(unmet)}",
            hint="install a newer Hearth, or an older bundle",
        )
    versions = ", ".join(dict.fromkeys(each.version for each in same))
    hint = f"there are: {versions}" if versions else "`hearth bundle search` shows what there is"
    raise NotFoundError(f"there is no {wanted} in {where}", hint=hint)


def requirement(text: str) -> Requirement:
    """Parse the name of a bundle with an optional version specifier; raise ``ConfigError`` if it is not one.

    URLs and markers are refused because they would be ignored.
    """
    try:
        found = Requirement(text)
    except InvalidRequirement:
        found = None
    if found is None or found.url or found.marker:
        raise ConfigError(
            f"{text!r} is neither a file nor the name of a bundle", hint="write it as orders, or orders==1.2"
        )
    return found
