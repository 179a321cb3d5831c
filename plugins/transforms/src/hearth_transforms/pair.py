"""Lists of pairs, such as `foo:bar,abc:xyz`, in the configuration of Cast and ReplaceField."""

from __future__ import annotations

from hearth_api import ConfigError

DESCRIPTION = "list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"


def parts(item: str) -> list[str]:
    """Split an item at its colons without trailing empty parts, like Java's `split`."""
    found = item.split(":")
    while len(found) > 1 and not found[-1]:
        found.pop()
    return [] if found == [""] and item else found


def invalid_pair(items: list[str], item: str) -> ConfigError:
    """Return the error for an invalid pair; Kafka's message says rename for all transformations."""
    return ConfigError("renames", items, f"Invalid rename mapping: {item}")
