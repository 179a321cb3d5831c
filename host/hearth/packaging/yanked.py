"""Yanked packages (PEP 592): versions that whoever released them wants nobody to install any more.

The package index is asked by ``uv``, so it is the one that uv is configured for, with its passwords and its cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from hearth.isolation import uv
from hearth.isolation.environment_refused import UvFailed
from hearth_api import ConnectError

AT_ONCE = 8
"""How many packages are asked for at once; each takes a round trip or two."""
_YANKED = re.compile(r'^warning: `[^`]*` is yanked(?: \(reason: "(.*)"\))?', re.MULTILINE)
_UNKNOWN, _NOT_ASKED = "No solution found", "the network was disabled"


def yanked(pins: Iterable[str]) -> dict[str, str]:
    """Return which of the pins (``name==version``) the index says to be yanked, and why.

    What it does not have says nothing: bundles bring packages that are in no index. Raises ``ConnectError`` where it
    does not answer.
    """
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        found = zip(asked := sorted(set(pins)), pool.map(_reason, asked))
        return {pin: reason for pin, reason in found if reason is not None}
    finally:
        pool.shutdown(cancel_futures=True)


def _reason(pin: str) -> str | None:
    """Return why a version was yanked, ``None`` for one that was not, or is not there."""
    options = ["--universal", "--no-deps", "--no-header"]
    try:
        _, told = uv.run_and_listen("pip", "compile", "-", *options, text=pin)
    except UvFailed as error:
        if _UNKNOWN in str(error) and _NOT_ASKED not in str(error):
            return None
        hint = "see whether this machine reaches the package index that uv is configured for, or leave --yanked out"
        fact = f"whether {pin} was yanked cannot be found out: {error}"
        raise ConnectError(fact, code="environment.index", hint=hint) from error
    found = _YANKED.search(told)
    return None if found is None else found[1] or "no reason is given"
