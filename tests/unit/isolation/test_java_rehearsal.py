"""A Java stage maps the archive of classes that its rehearsal made, and starts without one."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from hearth.config.confinement_key import Confinement
from hearth.config.java_key import Jvm
from hearth.isolation.environment import Environment
from hearth.isolation.java_environment import java_environment
from hearth.isolation.java_rehearsal import rehearse
from hearth.isolation.java_stage import stage_directory
from hearth.isolation.stage import Stage
from hearth_stage.plugin_call import Ping
from tests.timeouts import TIMEOUT


def test_stage_maps_the_archive_of_its_classes(tmp_path: Path) -> None:
    """With ``-Xshare:on`` a JVM that cannot map it would fail."""
    environment = java_environment("empty", tmp_path, stage_directory())
    assert _has_archive(environment)
    _start(environment.confined(Confinement(jvm=Jvm(options=("-Xshare:on",)))))


def test_stage_without_an_archive_starts(tmp_path: Path) -> None:
    """As on another machine, to which the directory was copied."""
    copied = Path(shutil.copytree(stage_directory(), tmp_path / "stage"))
    rehearse(copied)
    environment = java_environment("empty", tmp_path, copied)
    assert not _has_archive(environment)
    _start(environment)


def _has_archive(environment: Environment) -> bool:
    return any(word.startswith("-XX:SharedArchiveFile=") for word in environment.command_line())


def _start(environment: Environment) -> None:
    with contextlib.closing(Stage.start(environment, "empty")) as stage:
        stage.call(Ping(), TIMEOUT)
