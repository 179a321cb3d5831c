"""Names of settings that Spark does not know, and that look as if another was meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_ALIKE = 0.9
"""How much alike two names are of which one is a slip; what Spark loads later resembles none so much."""


def misspelled(context: Any, names: Sequence[str]) -> list[str]:
    """Return what is to be said of settings that a running Spark does not know and has by almost that name.

    Spark itself takes any name: most of those that it does not know belong to parts of it that are not loaded.
    """
    import difflib  # which is needed where Spark is told settings only

    entries = getattr(getattr(context._jvm.org.apache.spark.internal.config, "ConfigEntry$"), "MODULE$")
    unknown = [name for name in names if entries.findEntry(name) is None]
    known = [str(name) for name in entries.knownConfigs().keySet()] if unknown else []
    near = {name: difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE) for name in unknown}
    return [f"Spark knows no {name!r}, did you mean {found[0]!r}?" for name, found in near.items() if found]
