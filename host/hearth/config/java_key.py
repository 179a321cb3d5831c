"""The keys of the JVMs of Java plugins, of a worker or of a single connector."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from hearth_api import ConfigError, Importance, Lambda, Settings, ValidList, key

HOME, OPTIONS, ALLOWED = "plugin.java.home", "plugin.java.options", "plugin.java.override.allow"
HEAP_BYTES = 512 << 20
"""Largest heap of a JVM without a memory limit."""
HARMLESS = (
    "-Xms*", "-Xmn*", "-Xmx*", "-Xss*", "-XX:Max*Size=*", "-XX:+Use*GC", "--add-opens=*", "--add-exports=*",
    "/usr/lib/jvm/*",
)  # fmt: skip
"""Options and directories that make a JVM run no other code."""
_STARTS = ("-cp", "-classpath", "--class-path", "-jar", "-m", "--module", "-p", "--module-path", "-version")
"""Options that decide what a JVM starts, which Hearth does."""


@dataclass(frozen=True)
class Jvm:
    """How a JVM of Java plugins starts: the directory of its Java, ``None`` for the machine's, and its options."""

    home: str | None = None
    options: tuple[str, ...] = ()

    def brief(self) -> Jvm:
        """Return the options of a JVM that makes a few calls: one compiler alone needs a quarter less CPU.

        Options that were set follow, so they count.
        """
        return replace(self, options=("-XX:TieredStopAtLevel=1", *self.options))

    def words(self, memory_bytes: int | None) -> list[str]:
        """Return the options of its command, with a heap of three fifths of its memory limit.

        Classes, threads, compiled code and columns take the rest. A heap in ``options`` comes later, so it counts.
        """
        heap = HEAP_BYTES if memory_bytes is None else memory_bytes * 3 // 5
        return [f"-Xmx{heap >> 10}k", *self.options]


ANY_JVM = Jvm()
"""The machine's Java, with the options that Hearth gives it."""


def _check_home(name: str, value: Any) -> None:
    if value is not None and not os.path.isabs(value):
        raise ConfigError(name, value, "Value must be an absolute path")


def _check_options(name: str, value: Any) -> None:
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise ConfigError(name, value, f"{error}, which quotes words as a shell does") from error
    for word in words:
        if not word.startswith("-") or "\0" in word:
            raise ConfigError(name, value, f"{word!r} is no option; an option and its value are one word, joined by =")
        if word.partition("=")[0] in _STARTS:
            raise ConfigError(name, value, f"{word!r} says what the JVM starts, which cannot be changed")


class JavaConfig(Settings):
    """The JVMs of a worker's connectors. The keys are not in a connector's ConfigDef; they are shown if used."""

    plugin_java_home: str | None = key(
        HOME,
        default=None,
        check=Lambda(_check_home, "absent or an absolute path"),
        importance=Importance.LOW,
        doc="Directory of the Java that runs Java plugins of a connector, on each machine. By default JAVA_HOME, else "
        "the directory of the first java on PATH.",
    )
    plugin_java_options: str = key(
        OPTIONS,
        default="",
        check=Lambda(_check_options, "options of a JVM, quoted as for a shell"),
        importance=Importance.LOW,
        doc="Options of the JVMs that run Java plugins of a connector, such as -Xmx1g or "
        "--add-opens=java.base/java.lang=ALL-UNNAMED. A connector's follow its worker's. By default the heap takes "
        f"three fifths of plugin.limits.memory.bytes, or {HEAP_BYTES >> 20} MB without that limit.",
    )

    @property
    def jvm(self) -> Jvm:
        """Return the values for the JVMs."""
        home = None if self.plugin_java_home is None else os.path.normpath(self.plugin_java_home)
        return Jvm(home, tuple(shlex.split(self.plugin_java_options)))


class JavaOverrideConfig(JavaConfig):
    """The keys of a worker, which says what its connectors may change."""

    plugin_java_allow: list[str] = key(
        ALLOWED,
        default=list(HARMLESS),
        check=ValidList(),
        importance=Importance.LOW,
        doc="JVM options and directories of Java, or patterns with *, that connectors may set with "
        "plugin.java.options and plugin.java.home. Others, such as -javaagent, can make a JVM run any code.",
    )

    def jvm_of(self, config: Mapping[str, Any]) -> Jvm:
        """Return the JVM of a connector's plugins; an empty configuration gives the worker's."""
        own = JavaConfig(config).jvm
        return Jvm(own.home or self.jvm.home, (*self.jvm.options, *own.options))


def refused_java(worker: JavaOverrideConfig, config: Mapping[str, Any]) -> dict[str, ConfigError]:
    """Return the errors in a connector's settings of its JVMs by key, except for values that are invalid."""
    found = {}
    if ALLOWED in config:
        found[ALLOWED] = ConfigError(ALLOWED, config[ALLOWED], "only the worker may set what its connectors may set")
    for name in (HOME, OPTIONS):
        try:
            own = JavaConfig({name: config[name]} if name in config else {}).jvm
        except ConfigError:
            continue
        for value in filter(None, (own.home, *own.options)):
            if value != worker.jvm.home and not any(fnmatchcase(value, each) for each in worker.plugin_java_allow):
                text, hint = f"its worker does not allow {value!r}", f"name it in the worker's {ALLOWED}"
                found[name] = ConfigError(name, config[name], text, hint=hint)
    return found
