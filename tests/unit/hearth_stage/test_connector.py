"""A connector in its stage: its calls, what it may leave unanswered, and its messages to the host."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from hearth_api import (
    Config,
    ConfigDef,
    ConfigType,
    ConfigValue,
    SinkConnector,
    SinkConnectorContext,
    SourceConnector,
    Task,
    TopicPartition,
)
from hearth_api import SourceConnectorContext as SourceContext
from hearth_stage.call import Message
from hearth_stage.connector import StageConnector
from hearth_stage.connector_call import (
    AlterOffsets,
    AskTaskConfigs,
    LoadConnector,
    OffsetsAltered,
    RaiseError,
    RequestReconfiguration,
    StartConnector,
    StopConnector,
)
from hearth_stage.definition import describe, validate
from hearth_stage.plugin_call import Describe, Validate

heard: list[Any] = []


def note_offsets(connector_config: Mapping[str, str], offsets: Any) -> bool:
    """Record the altered offsets, unless that is unsupported."""
    if "never" in connector_config:
        raise NotImplementedError
    heard.append(("alter", dict(connector_config), offsets))
    return True


class Noting:
    """Records the calls to a connector of either kind."""

    context: Any

    def version(self) -> str:
        """Return a version."""
        return "1.2"

    def config(self) -> ConfigDef:
        """Return one key."""
        return ConfigDef().define("size", ConfigType.INT)

    def start(self, props: Mapping[str, str]) -> None:
        """Record the start, and call the host."""
        heard.append(("start", dict(props)))
        self.context.request_task_reconfiguration()
        self.context.raise_error(RuntimeError("no disk"))
        if "fail" in props:
            raise RuntimeError("cannot start")

    def task_class(self) -> type[Task]:
        """Return a class."""
        return Task

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return as many configurations as permitted."""
        return [{"number": str(number)} for number in range(max_tasks)]

    def stop(self) -> None:
        """Record the stop."""
        heard.append("stop")


class Source(Noting, SourceConnector):
    """A source."""

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Any) -> bool:
        """Record the offsets, unless that is unsupported."""
        return note_offsets(connector_config, offsets)


class Silent(Noting, SourceConnector):
    """A source without support for altering offsets."""


class Unable(Noting, SourceConnector):
    """A source whose stop raises."""

    def stop(self) -> None:
        """Fail."""
        raise RuntimeError("nothing to stop")


class Sink(Noting, SinkConnector):
    """The same, without definition and validation."""

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Any) -> bool:
        """Record the offsets, unless that is unsupported."""
        return note_offsets(connector_config, offsets)

    def config(self) -> ConfigDef:
        """Return None, which Kafka's own connectors never do."""
        return None  # type: ignore[return-value]


class Undecided(Source):
    """Has keys but validates to None."""

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Return nothing."""
        return None  # type: ignore[return-value]


class Opinionated(Source):
    """Has keys and a validation."""

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Reject every value."""
        value = ConfigValue("size", connector_configs["size"])
        value.add_error_message(f"{value.value} is too small for my taste")
        return Config([value])


class Host:
    """The other end of a channel: calls a connector and records its notices."""

    def __init__(self, name: str) -> None:
        self.notices: list[Message] = []
        channel: Any = SimpleNamespace(notify=self.notices.append)
        self.connector = StageConnector(channel)
        self.reference = f"{__name__}:{name}"
        self.version = self.connector.load(LoadConnector(self.reference)).version


@pytest.fixture(autouse=True)
def _forget() -> None:
    heard.clear()


def test_connector_answers_version_and_task_configurations() -> None:
    """All calls reach the instance that was loaded."""
    host = Host("Source")
    assert host.version == "1.2"
    assert [key["name"] for key in describe(Describe(host.reference, "source")).config] == ["size"]
    answer = host.connector.task_configs(AskTaskConfigs(2))
    assert answer.configs == [{"number": "0"}, {"number": "1"}]
    assert str(answer.task_class).endswith(".Task")


def test_invalid_value_is_reported_with_its_key() -> None:
    """Definition and values are in one answer."""
    answer = validate(Validate(f"{__name__}:Source", {"size": "x"}, "source"))
    assert [key["name"] for key in answer.definitions or ()] == ["size"]
    ((value, errors),) = [(each["value"], each["errors"]) for each in answer.values or ()]
    assert value in ("x", None)
    assert "Not a number of type INT" in errors[0]


def test_missing_definition_and_validation_are_null() -> None:
    """Kafka Connect has a message for each, so the host must know which it was."""
    assert describe(Describe(f"{__name__}:Sink", "sink")).config == []
    assert validate(Validate(f"{__name__}:Sink", {}, "sink")).definitions is None
    answer = validate(Validate(f"{__name__}:Undecided", {}, "source"))
    assert (len(answer.definitions or ()), answer.values) == (1, None)


def test_connector_validates_its_own_settings() -> None:
    """It may reject what its definition accepts."""
    (value,) = validate(Validate(f"{__name__}:Opinionated", {"size": "7"}, "source")).values or [{}]
    assert (value["name"], value["errors"]) == ("size", ["7 is too small for my taste"])


@pytest.mark.parametrize(("name", "kind"), [("Source", SourceContext), ("Sink", SinkConnectorContext)])
def test_connector_can_call_its_host_during_start(name: str, kind: type) -> None:
    """It has the context of its kind, and an error arrives with its trace."""
    host = Host(name)
    host.connector.start(StartConnector({"a": "b"}))
    assert isinstance(host.connector._loaded().context, kind)
    asked, error = host.notices
    assert isinstance(error, RaiseError)
    assert (asked, error.op, error.message) == (RequestReconfiguration(), "raise_error", "no disk")
    assert "RuntimeError: no disk" in error.trace
    assert heard == [("start", {"a": "b"})]


@pytest.mark.parametrize(
    ("name", "rows", "given"),
    [
        ("Source", [[{"p": 1}, {"n": 2}], [{"p": 2}, None]], [[{"p": 1}, {"n": 2}], [{"p": 2}, None]]),
        ("Sink", [["t", 0, 5], ["t", 1, None]], {TopicPartition("t", 0): 5, TopicPartition("t", 1): None}),
    ],
)
def test_connector_alters_offsets(name: str, rows: list[Any], given: Any) -> None:
    """In the form of its kind; one without support says so, and so does one that forbids it."""
    host = Host(name)
    assert host.connector.alter_offsets(AlterOffsets({"a": "b"}, rows)) == OffsetsAltered(True)
    assert heard == [("alter", {"a": "b"}, given)]
    assert host.connector.alter_offsets(AlterOffsets({"never": ""}, [])) == OffsetsAltered(None)
    assert Host("Silent").connector.alter_offsets(AlterOffsets({}, [])) == OffsetsAltered(False)


def test_connector_that_runs_is_stopped_when_its_stage_ends() -> None:
    """Once, and not if it was stopped before or never started."""
    host = Host("Source")
    host.connector.end()
    host.connector.start(StartConnector({}))
    host.connector.end()
    host.connector.end()
    host.connector.start(StartConnector({}))
    host.connector.stop(StopConnector())
    host.connector.end()
    assert [each for each in heard if each == "stop"] == ["stop"] * 2


def test_connector_whose_start_failed_is_stopped_as_far_as_it_can_be() -> None:
    """It may have opened something; an error in its stop is expected then."""
    host = Host("Source")
    with pytest.raises(RuntimeError, match="cannot start"):
        host.connector.start(StartConnector({"fail": "yes"}))
    host.connector.end()
    host.connector.end()
    assert heard == [("start", {"fail": "yes"}), "stop"]
    unable = Host("Unable")
    with pytest.raises(RuntimeError):
        unable.connector.start(StartConnector({"fail": "yes"}))
    unable.connector.end()
    unable.connector.start(StartConnector({}))
    with pytest.raises(RuntimeError, match="nothing to stop"):
        unable.connector.end()
