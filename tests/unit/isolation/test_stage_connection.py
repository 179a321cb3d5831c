"""What all tenants of a stage process share: its connection and its part of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.foundation.log_context import label_of_record
from hearth.foundation.log_level import levels
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth_stage.plugin_call import Describe


def test_levels_reach_a_stage_that_starts_and_one_that_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, restored_levels: None
) -> None:
    """Earlier levels are set before its plugins load, later ones at once."""
    (tmp_path / "talker.py").write_text(
        "import logging\nlog = logging.getLogger('my.plugin')\nclass Plugin:\n    def version(self):\n"
        "        log.debug('one')\n        log.getChild('x').info('two')\n"
    )
    levels.set("my", "DEBUG")
    stage = Stage.start(python_environment("test", host(), (str(tmp_path),)), "test-0")
    stage.call(Describe("talker:Plugin"))
    levels.set("my.plugin", "ERROR")
    stage.call(Describe("talker:Plugin"))
    levels.set("my.plugin.x", "INFO")
    stage.call(Describe("talker:Plugin"))
    stage.close()
    assert caplog.messages == ["one", "two", "two"]


def test_several_share_the_log_of_a_process(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A tenant's records have its label, those of the process as a whole the label of the process."""
    (tmp_path / "talker.py").write_text(
        "import logging\nclass Plugin:\n    def version(self):\n        logging.getLogger('talker').info('said')\n"
    )
    connection = (whole := Stage.start(python_environment("test", host(), (str(tmp_path),)), "test-0")).connection
    connection.label = "all"
    connection.labels[1] = "one"
    tenants = [Stage(connection, f"tenant {number}", tenant=number) for number in (1, 2)]
    for each in (*tenants, whole):
        each.call(Describe("talker:Plugin"))
    whole.close()
    labels = [label_of_record(each) for each in caplog.records if each.name == "talker"]
    assert labels == ["one", "all", "all"]
