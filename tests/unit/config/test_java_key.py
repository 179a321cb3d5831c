"""The JVMs of Java plugins are set by the worker, and by connectors as far as they run no other code."""

from __future__ import annotations

import pytest

from hearth.config import StandaloneConfig
from hearth.config.confinement_key import refused
from hearth.config.java_key import HARMLESS, HEAP_BYTES, Jvm
from hearth_api import ConfigError
from tests.unit.config.test_worker_key import MINIMAL


def jvm(config: dict[str, str], **worker: str) -> Jvm:
    """Return the JVM of a connector's plugins; underscores in the worker's keys replace dots."""
    settings = {name.replace("_", "."): value for name, value in worker.items()}
    return StandaloneConfig({**MINIMAL, **settings}).confinement(config).jvm


def test_options_of_a_connector_follow_those_of_its_worker() -> None:
    """The last one counts for a JVM; words are quoted as for a shell."""
    worker = {"plugin_java_options": "-Xmx1g '-Dgreeting=good day'", "plugin_java_home": "/opt/java/"}
    assert jvm({}, **worker) == Jvm("/opt/java", ("-Xmx1g", "-Dgreeting=good day"))
    own = {"plugin.java.options": "-Xmx2g", "plugin.java.home": "/usr/lib/jvm/java-21"}
    assert jvm(own, **worker) == Jvm("/usr/lib/jvm/java-21", ("-Xmx1g", "-Dgreeting=good day", "-Xmx2g"))


def test_heap_is_a_part_of_the_memory_limit() -> None:
    """The options come later, because they may have a heap of their own."""
    assert Jvm().words(None) == [f"-Xmx{HEAP_BYTES >> 10}k"]


def test_jvm_for_a_few_calls_has_one_compiler_unless_options_say_otherwise() -> None:
    """Of two options of a name, Java takes the last."""
    wanted = Jvm(options=("-XX:TieredStopAtLevel=4",))
    assert wanted.brief().words(5 << 10) == ["-Xmx3k", "-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"]
    assert Jvm(options=("-Xmx9m",)).words(1000 << 10) == ["-Xmx600k", "-Xmx9m"]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("plugin.java.home", "java-17", "Value must be an absolute path"),
        ("plugin.java.options", "-Xmx1g '-Da", "No closing quotation"),
        (
            "plugin.java.options",
            "--add-opens java.base/java.lang=ALL-UNNAMED",
            "is no option; an option and its value",
        ),
        ("plugin.java.options", "-jar evil.jar", "says what the JVM starts"),
        ("plugin.java.options", "@options", "'@options' is no option"),
    ],
)
def test_invalid_value_is_an_error_of_worker_and_connector(name: str, value: str, says: str) -> None:
    """It names the key and the value."""
    for ask in (lambda: StandaloneConfig({**MINIMAL, name: value}), lambda: jvm({name: value})):
        with pytest.raises(ConfigError) as caught:
            ask()
        assert str(caught.value).startswith(f"Invalid value {value} for configuration {name}: ")
        assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plugin.java.options", "-javaagent:/tmp/evil.jar"),
        ("plugin.java.options", "-Xmx1g -XX:OnOutOfMemoryError=evil"),
        ("plugin.java.options", "-Dcom.sun.management.jmxremote.port=1"),
        ("plugin.java.home", "/tmp/java"),
        ("plugin.java.home", "/usr/lib/jvm/../../../tmp/java"),
    ],
)
def test_connector_may_not_set_what_runs_other_code(name: str, value: str) -> None:
    """Unless its worker allows it."""
    with pytest.raises(ConfigError, match=f"for configuration {name}: its worker does not allow") as caught:
        jvm({name: value})
    assert caught.value.hint == "name it in the worker's plugin.java.override.allow"
    allowed = {"plugin.java.override.allow": ",".join((*HARMLESS, "-javaagent:*", "-D*", "-XX:On*", "/tmp/*"))}
    worker = StandaloneConfig({**MINIMAL, **allowed})
    assert refused(worker, {name: value}) == {}
    assert worker.confinement({name: value}).jvm != Jvm()


def test_connector_may_use_the_java_of_its_worker() -> None:
    """Wherever it is; only the worker says what connectors may set."""
    assert jvm({"plugin.java.home": "/opt/java"}, plugin_java_home="/opt/java").home == "/opt/java"
    with pytest.raises(ConfigError, match="only the worker may set what its connectors may set"):
        jvm({"plugin.java.override.allow": "*"})
