"""Why a bundle cannot have an environment on this machine; the codes make the command line exit with 3."""

from __future__ import annotations

from hearth_api import ConnectError


class EnvironmentRefused(ConnectError):
    """The environment of a bundle cannot be built; the argument says why."""

    code = "environment.refused"


class InterpreterMissing(EnvironmentRefused):
    """No Python on this machine suits the bundle."""

    code = "environment.interpreter"


class UvFailed(EnvironmentRefused):
    """``uv`` ended with an error, whose end is the argument, or is not there."""

    code = "environment.uv"
