"""What is handed on of an environment: a command that starts a stage, as data, so that it can name any program."""

from __future__ import annotations

import dataclasses
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import hearth_api
import hearth_execution
import hearth_stage
from hearth.config.confinement_key import BY_DEFAULT, Confinement
from hearth.isolation.environment_python import own_python
from hearth_stage.limit import Limits

PYTHON, STAGE = "{python}", "{stage}"
"""Words of a command that are other ones on each machine."""
_PATH = re.compile(r"\{(\d+)\}")


@dataclass(frozen=True)
class Environment:
    """How a stage is started: a command, and the directories it names, which travel to other machines.

    The command is that of any program which takes over its standard input as the connection to the runtime. What
    lies elsewhere on another machine is named by a word in braces: ``{0}`` is the first of ``paths``, ``{1}`` the
    second, also within a longer word; ``{python}`` is the interpreter of the runtime that starts the stage,
    and ``{stage}`` the program of its Python stage. Everything else, a program's path above all, is the same
    everywhere or an error.
    """

    key: str
    command: tuple[str, ...]
    paths: tuple[str, ...] = ()
    bundle: str = field(default="", compare=False)
    """Whose it is, for messages; others may have the same one."""
    confinement: Confinement = BY_DEFAULT
    """What its stages may see of the machine they run on."""

    def command_line(self) -> list[str]:
        """Return the command as this machine runs it."""
        return [self._found(word) for word in self.command]

    def start_line(self) -> list[str]:
        """Return the command that starts a stage: of Python, one on an interpreter that has nothing but this.

        That is made where it is not there; raises ``OSError`` where it cannot be.
        """
        python, *rest = line = self.command_line()
        if not self.is_forkable:
            return line
        tag = self.command[self.command.index(STAGE) + 1]
        return [own_python(self.key, python, tag, self.paths, _base()), *rest]

    def _found(self, word: str) -> str:
        if word in (PYTHON, STAGE):
            return sys.executable if word == PYTHON else str(Path(hearth_stage.__file__).parent)
        return _PATH.sub(lambda match: self.paths[int(match[1])], word)

    @property
    def is_forkable(self) -> bool:
        """Return whether the program can fork its stages: that of the Python stage can."""
        return STAGE in self.command

    @property
    def is_here(self) -> bool:
        """Return whether this machine has the directories, be it on a disk that it shares with the host."""
        return self.missing is None

    @property
    def missing(self) -> str | None:
        """Return the first of the directories that this machine does not have."""
        return next((path for path in self.paths if not Path(path).is_dir()), None)

    def copy_to(self, folder: Path) -> None:
        """Copy the directories, each under its number, to be taken to another machine."""
        for index, path in enumerate(self.paths):
            shutil.copytree(path, folder / str(index), symlinks=False)

    def confined(self, confinement: Confinement) -> Environment:
        """Return the environment with stages that may see this of their machine."""
        return dataclasses.replace(self, confinement=confinement)

    def limited(self, limits: Limits) -> Environment:
        """Return the environment with stages that may take so much of their machine."""
        return self.confined(dataclasses.replace(self.confinement, limits=limits))

    def copied(self, folder: Path) -> Environment:
        """Return the environment as it is where ``folder`` holds what ``copy_to`` copied."""
        return dataclasses.replace(self, paths=tuple(str(folder / str(index)) for index in range(len(self.paths))))


def _base() -> list[str]:
    """Return where this machine has what a Python stage itself consists of, and the base layer."""
    own = (hearth_stage.__file__, hearth_api.__file__, hearth_execution.__file__)
    directories = dict.fromkeys(str(Path(each).parent.parent) for each in own)  # mostly one
    return [*directories, *(entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))]
