"""An index of bundles, directories here or addresses: what there is of a name, and which of it this host can take."""

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
from hearth.packaging.index_entry import IndexEntry, offer_of
from hearth_api import ConfigError, NotFoundError

VARIABLE = "HEARTH_INDEX"
_LISTED = re.compile(rf"\s*(https?://\S+|[^{os.pathsep}]+)")


def named_indexes(options: Sequence[str] = ()) -> list[str]:
    """Return the indexes that somebody named, else those in ``HEARTH_INDEX``.

    There directories stand as in ``PATH``, and an address ends with the word.
    """
    listed = _LISTED.findall(os.environ.get(VARIABLE, ""))
    return list(options) or [each.strip() for each in listed if each.strip()]


def is_address(index: str) -> bool:
    """Return whether an index is at an address, and not a directory."""
    return "://" in index


def bundles_in(folder: Path) -> Iterator[Bundle]:
    """Yield the bundles of a directory that can be read; raises ``ConfigError`` for a directory that is not there."""
    for candidate in candidates([folder]):
        if isinstance(candidate, Rejected):
            raise ConfigError(
                f"the index {candidate.location} cannot be read: {candidate.reason}", hint=candidate.hint
            )
        found = read(candidate, is_named=False)
        if isinstance(found, Bundle):
            yield found


def entries(indexes: Sequence[str]) -> Iterator[IndexEntry]:
    """Yield all that some indexes have; raises ``ConfigError`` for one that is none."""
    for index in indexes:
        if is_address(index):
            from hearth.packaging.index_file import read_index  # which directories need not

            yield from read_index(index)
        else:
            yield from map(offer_of, bundles_in(Path(index).absolute()))


def search(text: str, indexes: Sequence[str]) -> list[IndexEntry]:
    """Return the bundles whose name, or the class of one of whose plugins, holds a text; by name and version."""
    wanted = text.lower()
    found = (each for each in entries(indexes) if any(wanted in name.lower() for name in (each.name, *each.plugins)))
    return sorted(found, key=lambda each: (canonicalize_name(each.name), version_key(each.version)))


def find(text: str, indexes: Sequence[str]) -> IndexEntry:
    """Return the newest bundle that a requirement such as ``orders`` or ``orders>=1.2`` names and this host can take.

    Pre-releases count where a requirement names one, or where there is nothing else, as for pip and uv. Raises
    ``NotFoundError`` with what there is instead, and why it is not taken.
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
    """Return the name of a bundle, perhaps with versions; raises ``ConfigError`` for what can be none.

    An address or a condition in it would be passed over in silence.
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
