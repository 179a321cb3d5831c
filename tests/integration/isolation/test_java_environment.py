"""The JVM of a Java plugin starts with the options and the heap that were configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.config.confinement_key import Confinement
from hearth.config.java_key import Jvm
from hearth.isolation.environment import Environment
from hearth.isolation.java_environment import java_environment
from hearth.isolation.stage import Stage
from hearth_execution.failure import RemoteError
from hearth_stage.limit import Limits
from hearth_stage.plugin_call import Describe, KeyInfo
from tests.java_sample import compile_sample

HERE = Path(__file__).parent
OPENED = "--add-opens=java.base/java.lang=ALL-UNNAMED"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return the environment of a plugin that looks into a closed package."""
    classes = tmp_path_factory.mktemp("classes")
    return java_environment("odd", classes, compile_sample(HERE / "java", classes), "odd")


def described(environment: Environment) -> list[KeyInfo]:
    """Return the keys of the plugin."""
    stage = Stage.start(environment, "odd")
    try:
        return stage.call(Describe("odd.Closed", "transformation")).config
    finally:
        stage.close()


def test_closed_package_is_named_with_the_option_that_opens_it(environment: Environment) -> None:
    """In the message and at the end of the trace; with the option, and the heap of the limit, the plugin works."""
    with pytest.raises(RemoteError) as caught:
        described(environment)
    assert str(caught.value).endswith(f"; set plugin.java.options={OPENED}")
    assert caught.value.info.trace.endswith(f"\nset plugin.java.options={OPENED}")
    confinement = Confinement(limits=Limits(memory_bytes=400 << 20), jvm=Jvm(options=(OPENED,)))
    (heap,) = (key["default_value"] for key in described(environment.confined(confinement)))
    assert 200 << 20 < int(heap) <= 240 << 20
