"""Lists of pairs, such as `foo:bar,abc:xyz`, which Cast and ReplaceField are configured with."""

from __future__ import annotations

from hearth_api import ConfigError

DESCRIPTION = "list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"


def parts(item: str) -> list[str]:
    """Return what stands between the colons of an item, without empty parts at its end, as Java splits a text."""
    found = item.split(":")
    while len(found) > 1 and not found[-1]:
        found.pop()
    return [] if found == [""] and item else found


def invalid_pair(items: list[str], item: str) -> ConfigError:
    """Return the error of an item that is no pair; Kafka calls it a renaming, whoever is configured."""
    return ConfigError("renames", items, f"Invalid rename mapping: {item}")
