"""The keys that say what processes of plugins may see of their machine: a worker's, and a connector's for itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from hearth_api import ConfigError, Importance, Settings, ValidList, key

PASSED = "plugin.environment"
VARIABLE = "plugin.environment."
"""What stands before the name of a variable that is set."""
ALLOWED = "plugin.environment.override.allow"
ORDINARY = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR", "TERM",
    "TMPDIR", "TEMP", "TMP", "XDG_*_HOME", "JAVA_HOME", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "*_NUM_THREADS", "MALLOC_*", "ARROW_*",
)  # fmt: skip
"""Variables by which a program finds its way on a machine."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WITH_USER = re.compile(r"//[^/\s]*@")
_SPARKS = ("PYSPARK_*", "PYTHON_WORKER_FACTORY_*")
"""What Spark puts into the environment of its workers for itself, their secret among it."""


@dataclass(frozen=True)
class Confinement:
    """What a process of plugins may see of its machine.

    ``passed`` are names of variables, or patterns with ``*``, that it has as the process which starts it has them;
    where it is ``None``, ``ORDINARY`` ones without an address that has a user's name and password in it. ``variables``
    are set, and go before those.
    """

    passed: tuple[str, ...] | None = None
    variables: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)

    def passed_of(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return which of its variables the process that starts another one passes on."""
        return {name: value for name, value in own.items() if self._passes(name, value)}

    def _passes(self, name: str, value: str) -> bool:
        if _matches(name, _SPARKS):
            return False
        if self.passed is None:
            return _matches(name, ORDINARY) and not _WITH_USER.search(value)
        return _matches(name, self.passed)


BY_DEFAULT = Confinement()
"""Plugins that nobody's configuration says anything of see what programs need to find their way."""
AS_HOST = Confinement(passed=("*",))
"""Plugins that a worker's own configuration names work for the worker and know what it knows."""


class ConfinementConfig(Settings):
    """What plugins of connectors may see of the machines on which they run."""

    plugin_environment: list[str] | None = key(
        PASSED,
        default=None,
        check=ValidList(empty_allowed=True, null_allowed=True),
        importance=Importance.MEDIUM,
        doc="Names of environment variables, or patterns with *, that plugins of connectors see as host and executors "
        "have them. Unless given, those by which programs find their way: PATH, HOME, LANG, LC_*, TZ, proxies "
        "without passwords, and such. Others, with whatever secret is in them, plugins do not see. A variable is set "
        "with plugin.environment.NAME.",
    )
    plugin_environment_allow: list[str] = key(
        ALLOWED,
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Names of environment variables, or patterns with *, that a connector may set for its plugins with "
        "plugin.environment.NAME; none unless given. Some, such as LD_PRELOAD, make a process run other code.",
    )

    def __init__(self, props: Mapping[str, Any]) -> None:
        super().__init__(props)
        for name in _variables(props):
            _check_name(name)

    def confinement(self, config: Mapping[str, Any]) -> Confinement:
        """Return what plugins of the connector with this configuration may see; for no connector with an empty one.

        Raises ConfigError for what the connector may not say.
        """
        for error in refused(self, config).values():
            raise error
        own = self.plugin_environment
        variables = {**_variables(self.originals), **_variables(config)}
        return Confinement(None if own is None else tuple(own), variables)


def refused(worker: ConfinementConfig, config: Mapping[str, Any]) -> dict[str, ConfigError]:
    """Return what a connector says that it may not, by the key that says it; values of variables may be secret."""
    found = {}
    for name in (PASSED, ALLOWED):
        if name in config:
            text = "it is for the worker to say what plugins see of its machines"
            found[name] = ConfigError(name, config[name], text, hint=f"set single variables with {VARIABLE}NAME")
    for variable in _variables(config):
        try:
            _check_name(variable)
            if not _matches(variable, worker.plugin_environment_allow):
                text = f"{VARIABLE}{variable}: the worker lets no connector set this variable"
                raise ConfigError(text, hint=f"name it in the worker's {ALLOWED}")
        except ConfigError as error:
            found[VARIABLE + variable] = error
    return found


def _check_name(variable: str) -> None:
    if not _NAME.fullmatch(variable):
        raise ConfigError(f"{VARIABLE}{variable}: {variable!r} is no name of an environment variable")


def _variables(config: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.removeprefix(VARIABLE): value
        for name, value in config.items()
        if name.startswith(VARIABLE) and name != ALLOWED and value is not None
    }


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
