"""Finds misspelled names of Spark settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_CUTOFF = 0.9
"""Similarity from which a name counts as a misspelling; valid names of modules not yet loaded stay below it."""


def misspelled(context: Any, names: Sequence[str]) -> list[str]:
    """Return warnings of settings that a running Spark does not know but has under a similar name.

    Spark itself accepts any name: most unknown ones belong to modules that are not loaded.
    """
    import difflib  # imported late: only needed if there are settings

    entries = getattr(getattr(context._jvm.org.apache.spark.internal.config, "ConfigEntry$"), "MODULE$")
    unknown = [name for name in names if entries.findEntry(name) is None]
    known = [str(name) for name in entries.knownConfigs().keySet()] if unknown else []
    near = {name: difflib.get_close_matches(name, known, n=1, cutoff=_CUTOFF) for name in unknown}
    return [f"Spark has no setting {name!r}, did you mean {found[0]!r}?" for name, found in near.items() if found]
