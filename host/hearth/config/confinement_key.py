"""The keys that say what processes of plugins may see of their machine: a worker's, and a connector's for itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from typing import Any

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
"""What stands before the name of a variable that is set."""
ALLOWED = "plugin.environment.override.allow"
ORDINARY = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR", "TERM",
    "TMPDIR", "TEMP", "TMP", "XDG_*_HOME", "JAVA_HOME", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "*_NUM_THREADS", "MALLOC_*", "ARROW_*",
)  # fmt: skip
"""Variables by which a program finds its way on a machine."""
LEAST_MEMORY, LEAST_CPUS, LEAST_FILES, LEAST_TEMPORARY = 64 << 20, 0.05, 64, 1 << 16
"""With less no stage process would start: it has 30 MB, and takes half a second of a processor for that."""
CREDENTIALS = ("AWS_*", "AZURE_*", "GOOGLE_*", "GCP_*", "*_TOKEN", "*PASSWORD*", "*SECRET*", "*_KEY", "*_CREDENTIALS")
"""What variables are called by which libraries of services find out who they are."""
_WIDER = {NETWORK: HOST, PROCESSES: SHARED}
"""Of the limits that are not numbers, the wider value."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WITH_USER = re.compile(r"//[^/\s]*@|^[^/\s:]+:[^/\s]*@")
_SPARKS = ("PYSPARK_*", "PYTHON_WORKER_FACTORY_*")
"""What Spark puts into the environment of its workers for itself, their secret among it."""
_PYTHONS = ("PYTHONPATH", "PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONUSERBASE", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
"""Where the host finds its packages, which are none of a plugin's, nor of what it starts (invariant 7)."""


@dataclass(frozen=True)
class Confinement:
    """What a process of plugins may see of its machine, and take of it.

    ``passed`` are names of variables, or patterns with ``*``, that it has as the process which starts it has them;
    where it is ``None``, ``ORDINARY`` ones without an address that has a user's name and password in it. ``variables``
    are set, and go before those.
    """

    passed: tuple[str, ...] | None = None
    variables: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    limits: Limits = NO_LIMITS

    def passed_of(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return which of its variables the process that starts another one passes on."""
        return {name: value for name, value in own.items() if self._passes(name, value)}

    def _passes(self, name: str, value: str) -> bool:
        if _matches(name, (*_SPARKS, *_PYTHONS)):
            return False
        if self.passed is None:
            return _matches(name, ORDINARY) and not _WITH_USER.search(value)
        return _matches(name, self.passed)


BY_DEFAULT = Confinement()
"""Plugins that nobody's configuration says anything of see what programs need to find their way."""
AS_HOST = Confinement(passed=("*",))
"""Plugins that a worker's own configuration names work for the worker and know what it knows."""


def absent_or_at_least(least: float) -> Lambda:
    """Return the check of a limit, which may be left out."""

    def check(name: str, value: Any) -> None:
        if value is not None:
            Range.at_least(least).ensure_valid(name, value)
            if not math.isfinite(value):
                raise ConfigError(name, value, "Value must be a number")

    return Lambda(check, f"absent or at least {least:g}")


def withheld_credentials(own: Mapping[str, str]) -> list[str]:
    """Return the names of variables that plugins by default do not see and that look as if one might rely on them."""
    return sorted(name for name in own.keys() - BY_DEFAULT.passed_of(own).keys() if _matches(name, CREDENTIALS))


class LimitConfig(Settings):
    """What a process of plugins may take of its machine: a worker's keys, and a connector's for itself.

    A connector may say less than its worker, and not more. The keys are none of a connector's definition, which is
    Kafka Connect's to the letter; they are shown with it where they are used.
    """

    plugin_memory: int | None = key(
        MEMORY,
        type=ConfigType.LONG,
        default=None,
        check=absent_or_at_least(LEAST_MEMORY),
        importance=Importance.MEDIUM,
        doc="How many bytes of memory a process of a connector's plugins may have, with the processes it starts. One "
        "that has more is ended, and its task fails and says so. No limit unless given.",
    )
    plugin_cpus: float | None = key(
        CPUS,
        default=None,
        check=absent_or_at_least(LEAST_CPUS),
        importance=Importance.MEDIUM,
        doc="How much processor time a process of a connector's plugins may take in a second, with the processes it "
        "starts: 1 is one processor, 0.5 half of one. One that takes more is held up. No limit unless given.",
    )
    plugin_open_files: int | None = key(
        FILES,
        default=None,
        check=absent_or_at_least(LEAST_FILES),
        importance=Importance.LOW,
        doc="How many files and connections a process of a connector's plugins may have open; about ten are the "
        "host's own. As many as the system lets it unless given.",
    )
    plugin_temporary: int | None = key(
        TEMPORARY,
        type=ConfigType.LONG,
        default=None,
        check=absent_or_at_least(LEAST_TEMPORARY),
        importance=Importance.LOW,
        doc="How many bytes the temporary files of a process of a connector's plugins may take. It has a directory "
        "for them (TMPDIR) of its own then, in memory, which is gone when it ends. No limit unless given.",
    )
    plugin_network: str = key(
        NETWORK,
        default=HOST,
        check=ValidString(HOST, NONE),
        importance=Importance.MEDIUM,
        doc="Whether processes of a connector's plugins have the network of their machine, host, or none. Records go "
        "to and from Kafka all the same: that is not the plugins' part.",
    )
    plugin_processes: str = key(
        PROCESSES,
        default=SHARED,
        check=ValidString(SHARED, OWN),
        importance=Importance.MEDIUM,
        doc="Whether processes of a connector's plugins have those of their machine beside them, shared, or see, "
        "signal and look into their own alone, own: the host, its variables and other plugins are out of their reach. "
        "Those it starts end with it. It has none of root's rights then, also where the host is run by root.",
    )

    @property
    def limits(self) -> Limits:
        """Return what these settings say, typed."""
        return Limits(
            self.plugin_memory,
            self.plugin_cpus,
            self.plugin_open_files,
            self.plugin_temporary,
            self.plugin_network == HOST,
            self.plugin_processes == OWN,
        )


class ConfinementConfig(LimitConfig):
    """What plugins of connectors may see of the machines on which they run, and take of them."""

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
        for name, value in _variables(props).items():
            _check_variable(name, value)

    def confinement(self, config: Mapping[str, Any]) -> Confinement:
        """Return what plugins of the connector with this configuration may see; for no connector with an empty one.

        Raises ConfigError for what the connector may not say.
        """
        for error in refused(self, config).values():
            raise error
        own = self.plugin_environment
        variables = {**_variables(self.originals), **_variables(config)}
        limits = LimitConfig({**self.parsed, **config}).limits
        return Confinement(None if own is None else tuple(own), variables, limits)


def refused(worker: ConfinementConfig, config: Mapping[str, Any]) -> dict[str, ConfigError]:
    """Return what a connector says that it may not, by the key that says it; values of variables may be secret."""
    found = {}
    for name in (PASSED, ALLOWED):
        if name in config:
            text = "it is for the worker to say what plugins see of its machines"
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
    """Return what is wrong with a limit of a connector beside that of its worker; not what is wrong by itself."""
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
        raise ConfigError(f"{VARIABLE}{variable}: {variable!r} is no name of an environment variable")
    if "\0" in value:
        raise ConfigError(f"{VARIABLE}{variable}: no environment variable holds a character of the number 0")


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
    """Return what all patterns say in one: every process that starts asks for each of its variables."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")
