"""The error of a host that already does as much of something expensive as it may."""

from __future__ import annotations

from hearth_api import ConnectError


class BusyError(ConnectError):
    """The same request may succeed in a minute."""

    code = "host.busy"
    hint = "try again in a minute"
