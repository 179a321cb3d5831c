"""The command that starts a stage, as data: it can name any program and is sent to other machines."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hearth_api
import hearth_execution
import hearth_stage
from hearth.config.confinement_key import BY_DEFAULT, Confinement
from hearth.config.java_key import HOME
from hearth.foundation.class_archive import ClassArchive
from hearth.foundation.java import MINIMUM_VERSION, JavaMissing, find_java
from hearth.isolation.environment_python import own_python
from hearth.isolation.environment_refused import EnvironmentRefused
from hearth_stage.limit import Limits

PYTHON, STAGE, JAVA_OPTIONS, CLASS_ARCHIVE = "{python}", "{stage}", "{java options}", "{class archive}"
"""Placeholders of a command, which differ on each machine or with the confinement."""
_JAVA = re.compile(r"\{java (\d+)\}")
_PATH = re.compile(r"\{(\d+)\}")


def java_word(release: int) -> str:
    """Return the placeholder of a Java that runs classes of a release."""
    return f"{{java {max(MINIMUM_VERSION, release)}}}"


@dataclass(frozen=True)
class Environment:
    """A stage's command and the directories it names, in a form that can be sent to other machines.

    The command starts any program that takes its standard input as the connection to the runtime. A placeholder in
    braces stands for what differs on another machine: ``{0}`` is the first of ``paths``, ``{1}`` the second, also
    within a longer word; ``{python}`` is the interpreter of the runtime that starts the stage, ``{stage}`` the program
    of its Python stage, ``{java 17}`` the machine's Java, which is 17 or newer, ``{class archive}`` the options with
    which it maps an archive of the second directory's classes, and ``{java options}`` the options of the confinement.
    Everything else, such as the path of a program, has to be the same on every machine.
    """

    key: str
    command: tuple[str, ...]
    paths: tuple[str, ...] = ()
    bundle: str = field(default="", compare=False)
    """The bundle's name, for messages; other bundles may have an equal environment."""
    confinement: Confinement = BY_DEFAULT
    """What its stages may see of their machine."""

    def command_line(self) -> list[str]:
        """Return the command with the paths of this machine.

        Raises ``EnvironmentRefused`` if it needs a Java that this machine lacks.
        """
        return [each for word in self.command for each in self._found(word)]

    def start_line(self) -> list[str]:
        """Return the command that starts a stage; a Python stage gets an interpreter that sees only this environment.

        Creates that interpreter if it does not exist; raises ``OSError`` if it cannot be created.
        """
        python, *rest = line = self.command_line()
        if not self.is_forkable:
            return line
        tag = self.command[self.command.index(STAGE) + 1]
        return [own_python(self.key, python, tag, self.paths, _base()), *rest]

    def _found(self, word: str) -> Iterator[str]:
        if word in (PYTHON, STAGE):
            yield sys.executable if word == PYTHON else str(Path(hearth_stage.__file__).parent)
        elif word == JAVA_OPTIONS:
            yield from self.confinement.jvm.words(self.confinement.limits.memory_bytes)
        elif word == CLASS_ARCHIVE:
            java = next(self._found(self.command[0]))
            yield from ClassArchive(Path(java), [Path(self.paths[1])]).options()
        elif (release := _JAVA.fullmatch(word)) is not None:
            yield self._java(int(release[1]))
        else:
            yield _PATH.sub(lambda match: self.paths[int(match[1])], word)

    def _java(self, minimum: int) -> str:
        home = self.confinement.jvm.home
        try:
            environ = os.environ if home is None else {"JAVA_HOME": home}
            return str(find_java(environ, minimum, "JAVA_HOME" if home is None else HOME).executable)
        except JavaMissing as error:
            reason = f"the plugins of {self.bundle} do not run on {platform.node()}: {error}"
            hint = error.hint if home else f"{error.hint}; {HOME} sets one for plugins alone"
            raise EnvironmentRefused(reason, hint=hint) from error

    @property
    def is_forkable(self) -> bool:
        """Return whether the program can fork its stages, as the Python stage can."""
        return STAGE in self.command

    @property
    def is_here(self) -> bool:
        """Return whether this machine has the directories, on its own disk or on one shared with the host."""
        return self.missing is None

    @property
    def missing(self) -> str | None:
        """Return the first directory that this machine lacks."""
        return next((path for path in self.paths if not Path(path).is_dir()), None)

    def copy_to(self, folder: Path) -> None:
        """Copy each directory to a numbered folder, to be sent to another machine."""
        for index, path in enumerate(self.paths):
            shutil.copytree(path, folder / str(index), symlinks=False)

    def confined(self, confinement: Confinement) -> Environment:
        """Return the environment with this confinement of its stages."""
        return dataclasses.replace(self, confinement=confinement)

    def limited(self, limits: Limits) -> Environment:
        """Return the environment with these limits of its stages."""
        return self.confined(dataclasses.replace(self.confinement, limits=limits))

    def brief(self) -> Environment:
        """Return the environment for a process without records, whose program should start quickly."""
        return self.confined(dataclasses.replace(self.confinement, jvm=self.confinement.jvm.brief()))

    def copied(self, folder: Path) -> Environment:
        """Return the environment with the directories that ``copy_to`` copied to ``folder``."""
        return dataclasses.replace(self, paths=tuple(str(folder / str(index)) for index in range(len(self.paths))))


def _base() -> list[str]:
    """Return the directories of the Python stage itself and of the base layer on this machine."""
    own = (hearth_stage.__file__, hearth_api.__file__, hearth_execution.__file__)
    directories = dict.fromkeys(str(Path(each).parent.parent) for each in own)  # usually one
    return [*directories, *(entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))]
