"""Yanked packages (PEP 592): releases that their publisher has withdrawn.

``uv`` queries the package index with its own configuration, credentials and cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from hearth.isolation import uv
from hearth.isolation.environment_refused import UvFailed
from hearth_api import ConnectError

AT_ONCE = 8
"""Number of concurrent queries; each takes one or two round trips."""
_YANKED = re.compile(r'^warning: `[^`]*` is yanked(?: \(reason: "(.*)"\))?', re.MULTILINE)
_UNKNOWN, _NOT_ASKED = "No solution found", "the network was disabled"


def yanked(pins: Iterable[str]) -> dict[str, str]:
    """Map the yanked pins (``name==version``) to the reason that the index gives.

    Packages that the index does not have are ignored, since bundles contain private ones. Raises ``ConnectError`` if
    the index does not answer.
    """
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        found = zip(asked := sorted(set(pins)), pool.map(_reason, asked))
        return {pin: reason for pin, reason in found if reason is not None}
    finally:
        pool.shutdown(cancel_futures=True)


def _reason(pin: str) -> str | None:
    """Return why a version was yanked; ``None`` if it was not or does not exist."""
    options = ["--universal", "--no-deps", "--no-header"]
    try:
        _, output = uv.run_and_listen("pip", "compile", "-", *options, text=pin)
    except UvFailed as error:
        if _UNKNOWN in str(error) and _NOT_ASKED not in str(error):
            return None
        hint = "check that this machine can reach the package index that uv is configured for, or leave --yanked out"
        fact = f"cannot determine whether {pin} is yanked: {error}"
        raise ConnectError(fact, code="environment.index", hint=hint) from error
    found = _YANKED.search(output)
    return None if found is None else found[1] or "no reason is given"
