"""The keys that confine plugin processes, of a worker or of a single connector."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from typing import Any

from hearth.config.java_key import ANY_JVM, JavaOverrideConfig, Jvm, refused_java
from hearth_api import (
    ConfigError,
    ConfigKey,
    ConfigType,
    Importance,
    Lambda,
    Range,
    Settings,
    ValidList,
    ValidString,
    key,
)
from hearth_stage.limit import (
    CPUS,
    FILES,
    HOST,
    MEMORY,
    NETWORK,
    NO_LIMITS,
    NONE,
    OWN,
    PROCESSES,
    SHARED,
    TEMPORARY,
    Limits,
)

PASSED = "plugin.environment"
VARIABLE = "plugin.environment."
"""Prefix of the keys that set environment variables."""
ALLOWED = "plugin.environment.override.allow"
ORDINARY = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR", "TERM",
    "TMPDIR", "TEMP", "TMP", "XDG_*_HOME", "JAVA_HOME", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "*_NUM_THREADS", "MALLOC_*", "ARROW_*",
)  # fmt: skip
"""Variables that ordinary programs need."""
LEAST_MEMORY, LEAST_CPUS, LEAST_FILES, LEAST_TEMPORARY = 64 << 20, 0.05, 64, 1 << 16
"""Minimum limits with which a stage process starts: it uses 30 MB and half a second of CPU time."""
CREDENTIALS = ("AWS_*", "AZURE_*", "GOOGLE_*", "GCP_*", "*_TOKEN", "*PASSWORD*", "*SECRET*", "*_KEY", "*_CREDENTIALS")
"""Names of variables from which libraries of cloud services take credentials."""
_WIDER = {NETWORK: HOST, PROCESSES: SHARED}
"""The less restrictive values of the limits that are not numbers."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WITH_USER = re.compile(r"//[^/\s]*@|^[^/\s:]+:[^/\s]*@")
_SPARKS = ("PYSPARK_*", "PYTHON_WORKER_FACTORY_*")
"""Variables that Spark sets for its Python workers, including their secret."""
_PYTHONS = ("PYTHONPATH", "PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONUSERBASE", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
"""Variables that locate the host's packages, which plugins and their child processes must not use (invariant 7)."""


@dataclass(frozen=True)
class Confinement:
    """What a plugin process may access and consume.

    ``passed`` are names or ``*`` patterns of variables that it inherits from its parent process; ``None`` stands for
    the ``ORDINARY`` ones except URLs with credentials. ``variables`` are set in addition and take precedence.
    """

    passed: tuple[str, ...] | None = None
    variables: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    limits: Limits = NO_LIMITS
    jvm: Jvm = ANY_JVM

    def passed_of(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return those of a process's variables that it passes on to its child."""
        return {name: value for name, value in own.items() if self._passes(name, value)}

    def _passes(self, name: str, value: str) -> bool:
        if _matches(name, (*_SPARKS, *_PYTHONS)):
            return False
        if self.passed is None:
            return _matches(name, ORDINARY) and not _WITH_USER.search(value)
        return _matches(name, self.passed)


BY_DEFAULT = Confinement()
"""The confinement without any configuration: the variables that ordinary programs need."""
AS_HOST = Confinement(passed=("*",))
"""The confinement of plugins that the worker's own configuration names: they act for the worker and see what it sees.
"""


def absent_or_at_least(least: float) -> Lambda:
    """Return the check of an optional limit."""

    def check(name: str, value: Any) -> None:
        if value is not None:
            Range.at_least(least).ensure_valid(name, value)
            if not math.isfinite(value):
                raise ConfigError(name, value, "Value must be a number")

    return Lambda(check, f"absent or at least {least:g}")


def withheld_credentials(own: Mapping[str, str]) -> list[str]:
    """Return the variables that look like credentials and are not passed to plugins by default."""
    return sorted(name for name in own.keys() - BY_DEFAULT.passed_of(own).keys() if _matches(name, CREDENTIALS))


class LimitConfig(Settings):
    """Limits for the resources of a plugin process, of a worker or of a single connector.

    A connector may set limits below its worker's, not above. The keys are not in the connector's ConfigDef, which
    equals Kafka Connect's; they are shown with it only if used.
    """

    plugin_memory: int | None = key(
        MEMORY,
        type=ConfigType.LONG,
        default=None,
        check=absent_or_at_least(LEAST_MEMORY),
        importance=Importance.MEDIUM,
        doc="Memory limit in bytes of a plugin process of a connector, including its child processes. A process "
        "that exceeds it is killed and its task fails with that reason. No limit by default.",
    )
    plugin_cpus: float | None = key(
        CPUS,
        default=None,
        check=absent_or_at_least(LEAST_CPUS),
        importance=Importance.MEDIUM,
        doc="CPU limit of a plugin process of a connector, including its child processes: 1 is one processor, 0.5 "
        "half of one. A process that exceeds it is throttled. No limit by default.",
    )
    plugin_open_files: int | None = key(
        FILES,
        default=None,
        check=absent_or_at_least(LEAST_FILES),
        importance=Importance.LOW,
        doc="Limit of open files and connections of a plugin process of a connector, of which the host itself uses "
        "about ten. The system's limit by default.",
    )
    plugin_temporary: int | None = key(
        TEMPORARY,
        type=ConfigType.LONG,
        default=None,
        check=absent_or_at_least(LEAST_TEMPORARY),
        importance=Importance.LOW,
        doc="Limit in bytes of the temporary files of a plugin process of a connector. The process then has its own "
        "TMPDIR in memory, which is deleted when it ends. No limit by default.",
    )
    plugin_network: str = key(
        NETWORK,
        default=HOST,
        check=ValidString(HOST, NONE),
        importance=Importance.MEDIUM,
        doc="Whether plugin processes of a connector can use the network of their machine (host) or none. The host "
        "sends and receives the Kafka records in either case.",
    )
    plugin_processes: str = key(
        PROCESSES,
        default=SHARED,
        check=ValidString(SHARED, OWN),
        importance=Importance.MEDIUM,
        doc="Whether plugin processes of a connector share the processes of their machine (shared), or see, signal "
        "and inspect only their own child processes (own): the host, its variables and other plugins are then "
        "out of reach. Child processes end with the plugin process, which has no root privileges even if root "
        "runs the host.",
    )

    @property
    def limits(self) -> Limits:
        """Return the limits as typed values."""
        return Limits(
            self.plugin_memory,
            self.plugin_cpus,
            self.plugin_open_files,
            self.plugin_temporary,
            self.plugin_network == HOST,
            self.plugin_processes == OWN,
        )


class ConfinementConfig(LimitConfig, JavaOverrideConfig):
    """What connectors' plugins may access and consume on the machines on which they run."""

    plugin_environment: list[str] | None = key(
        PASSED,
        default=None,
        check=ValidList(empty_allowed=True, null_allowed=True),
        importance=Importance.MEDIUM,
        doc="Names, or patterns with *, of the environment variables that plugins of connectors inherit from host "
        "and executors. By default those that ordinary programs need: PATH, HOME, LANG, LC_*, TZ, proxies "
        "without passwords and similar. Plugins do not see others, which may contain secrets. "
        "plugin.environment.NAME sets a variable.",
    )
    plugin_environment_allow: list[str] = key(
        ALLOWED,
        default=[],
        check=ValidList(),
        importance=Importance.MEDIUM,
        doc="Names, or patterns with *, of the environment variables that a connector may set for its plugins with "
        "plugin.environment.NAME; none by default. Some, such as LD_PRELOAD, make a process run other code.",
    )

    def __init__(self, props: Mapping[str, Any]) -> None:
        super().__init__(props)
        for name, value in _variables(props).items():
            _check_variable(name, value)

    def confinement(self, config: Mapping[str, Any]) -> Confinement:
        """Return the confinement of a connector's plugins; an empty configuration gives the worker's.

        Raises ConfigError for settings that the connector may not make.
        """
        for error in refused(self, config).values():
            raise error
        own = self.plugin_environment
        variables = {**_variables(self.originals), **_variables(config)}
        limits = LimitConfig({**self.parsed, **config}).limits
        return Confinement(None if own is None else tuple(own), variables, limits, self.jvm_of(config))


def refused(worker: ConfinementConfig, config: Mapping[str, Any]) -> dict[str, ConfigError]:
    """Return the errors in a connector's confinement settings by key; values from variables may be secret."""
    found = refused_java(worker, config)
    for name in (PASSED, ALLOWED):
        if name in config:
            text = "only the worker may set what plugins see of its machines"
            found[name] = ConfigError(name, config[name], text, hint=f"set single variables with {VARIABLE}NAME")
    for name, limit in LimitConfig.definition().keys.items():
        if name in config and (error := _excess(limit, config[name], worker.parsed[name])):
            found[name] = error
    for variable, value in _variables(config).items():
        try:
            _check_variable(variable, value)
            if not _matches(variable, worker.plugin_environment_allow):
                text = f"{VARIABLE}{variable}: the worker lets no connector set this variable"
                raise ConfigError(text, hint=f"name it in the worker's {ALLOWED}")
        except ConfigError as error:
            found[VARIABLE + variable] = error
    return found


def _excess(limit: ConfigKey, value: Any, most: Any) -> ConfigError | None:
    """Return how a connector's limit exceeds its worker's; None for limits that are invalid by themselves."""
    try:
        own = limit.parse(value)
    except ConfigError:
        return None
    if limit.name in _WIDER:
        is_more = own == _WIDER[limit.name] != most
        text = f"its worker allows {most}"
    else:
        is_more = None not in (own, most) and own > most
        text = f"its worker allows at most {most}"
    return ConfigError(limit.name, value, text) if is_more else None


def _check_variable(variable: str, value: str) -> None:
    if not _NAME.fullmatch(variable):
        raise ConfigError(f"{VARIABLE}{variable}: {variable!r} is not a valid name of an environment variable")
    if "\0" in value:
        raise ConfigError(f"{VARIABLE}{variable}: an environment variable cannot contain NUL characters")


def _variables(config: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.removeprefix(VARIABLE): value
        for name, value in config.items()
        if name.startswith(VARIABLE) and name != ALLOWED and value is not None
    }


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return _any_of(tuple(patterns)).match(name) is not None


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return all patterns combined in one, because every new process matches each of its variables."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")
