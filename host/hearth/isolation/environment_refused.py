"""Errors of a bundle that cannot have an environment on this machine; the command line exits with 3."""

from __future__ import annotations

from hearth_api import ConnectError


class EnvironmentRefused(ConnectError):
    """The environment of a bundle cannot be built; the argument gives the reason."""

    code = "environment.refused"


class InterpreterMissing(EnvironmentRefused):
    """No Python on this machine meets the bundle's requirement."""

    code = "environment.interpreter"


class UvFailed(EnvironmentRefused):
    """``uv`` failed, with the end of its output as the argument, or is not installed."""

    code = "environment.uv"
