"""Settings without effect are reported, with the key that was probably meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.config.variable import Variables
from hearth.discovery import PluginType
from hearth.herder.plugin.pool import StagePool
from hearth.herder.validation.config_warning import ConfigWarnings
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth_api.worker import ConfigData, ConfigProvider
from tests.unit.herder.catalogue import CONNECT, WORKER, directory

SOURCE = {"name": "n", "connector.class": "FileStreamSource", "topic": "t"}
SINK = {"name": "n", "connector.class": "FileStreamSink", "topics": "t"}
HOIST = {"transforms": "h", "transforms.h.type": CONNECT + "transforms.HoistField$Value", "transforms.h.field": "f"}
DECLARES = "no plugin declares this key"
SINKS = "it has no effect: this key is for sinks, and the connector is a source"
SOURCES = "it has no effect: this key is for sources, and the connector is a sink"


class Env(ConfigProvider):
    """A provider of a secret."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Do nothing."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the secret."""
        return ConfigData({"SECRET": "geheim"})


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectorValidator]:
    """Return a validator over stand-ins for Kafka's plugins."""
    pool, known = StagePool(), directory(tmp_path_factory.mktemp("environments"))
    yield ConnectorValidator(
        known, WorkerConfig({**WORKER, "consumer.zz": "1"}), pool, variables=Variables({"env": Env()})
    )
    pool.close()


@pytest.mark.parametrize(
    ("base", "change", "name", "says"),
    [
        (SOURCE, {"tpoic": "t"}, "tpoic", f"{DECLARES}, did you mean 'topic'?"),
        (SOURCE, {"errors.tolerence": "all"}, "errors.tolerence", f"{DECLARES}, did you mean 'errors.tolerance'?"),
        (SOURCE, {"zz": "1"}, "zz", DECLARES),
        (SOURCE, {"topics": "t"}, "topics", SINKS),
        (SOURCE, {"errors.deadletterqueue.topic.name": "d"}, "errors.deadletterqueue.topic.name", SINKS),
        (SINK, {"topic.creation.default.partitions": "1"}, "topic.creation.default.partitions", SOURCES),
        (SINK, {"exactly.once.support": "required"}, "exactly.once.support", SOURCES),
        (
            SINK,
            {"errors.deadletterqueue.context.headers.enable": "true"},
            "errors.deadletterqueue.context.headers.enable",
            "it has no effect without errors.deadletterqueue.topic.name",
        ),
        (
            SOURCE,
            {"exactly.once.support": "required"},
            "exactly.once.support",
            "this host delivers at least once regardless of this key",
        ),
        (
            SOURCE,
            {**HOIST, "transforms.hh.field": "f"},
            "transforms.hh.field",
            "it has no effect: 'hh' is not in transforms, did you mean 'h'?",
        ),
        (
            SOURCE,
            {**HOIST, "transforms.h.feild": "f"},
            "transforms.h.feild",
            f"{DECLARES}, did you mean 'transforms.h.field'?",
        ),
        (
            SOURCE,
            {**HOIST, "transforms.h.predicate": "isTomb"},
            "transforms.h.predicate",
            "no predicate 'isTomb' is listed in predicates",
        ),
        (SOURCE, {"predicates.p.type": "X"}, "predicates.p.type", "it has no effect: 'p' is not in predicates"),
        (
            SOURCE,
            {"topic.creation.groups": "group", "topic.creation.groop.partitions": "1"},
            "topic.creation.groop.partitions",
            "it has no effect: 'groop' is not in topic.creation.groups, did you mean 'group'?",
        ),
        (
            SOURCE,
            {"value.converter.schemas.enable": "false"},
            "value.converter.schemas.enable",
            "it has no effect: this connector names no value.converter, and the worker's has the worker's settings",
        ),
        (
            SOURCE,
            {"value.converter": CONNECT + "json.JsonConverter", "value.converter.schemas.enabled": "false"},
            "value.converter.schemas.enabled",
            f"{DECLARES}, did you mean 'value.converter.schemas.enable'?",
        ),
        (
            SOURCE,
            {"consumer.override.max.poll.records": "5"},
            "consumer.override.max.poll.records",
            "it has no effect: the tasks of this connector have no consumer",
        ),
        (
            SINK,
            {"producer.override.acks": "1"},
            "producer.override.acks",
            "it has no effect: the tasks of this connector have no producer",
        ),
        (
            SOURCE,
            {"producer.override.lingr.ms": "5"},
            "producer.override.lingr.ms",
            "is not a key of Kafka's producer client and has no effect, did you mean 'linger.ms'?",
        ),
        (
            SOURCE,
            {"producer.override.security.protocol": "SSL", "producer.override.ssl.truststore.location": "/none.pem"},
            "producer.override.ssl.truststore.location",
            "'/none.pem' cannot be read: No such file or directory",
        ),
        (
            SOURCE,
            {
                "producer.override.security.protocol": "SASL_SSL",
                "producer.override.sasl.mechanism": "OAUTHBEARER",
                "producer.override.sasl.login.callback.handler.class": "com.example.Vault",
            },
            "producer.override.sasl.login.callback.handler.class",
            "no token provider is named 'com.example.Vault'",
        ),
        (SOURCE, {"producer.override.acks": "7"}, "producer.override.", "String must be one of: all, -1, 0, 1"),
        (
            SINK,
            {"consumer.override.interceptor.classes": "X"},
            "consumer.override.interceptor.classes",
            "is not honoured, Hearth's Kafka clients run no Java class; use a transformation",
        ),
        (SOURCE, {"file": "${fiel:/x:y}"}, "file", "no config provider is named 'fiel', there is 'env'"),
        (SOURCE, {"predicates": "p", "predicates.p.type": "X${env:SECRET}"}, "predicates.p.type", ""),
    ],
)
def test_a_setting_without_effect_has_one_warning(
    validator: ConnectorValidator, base: dict[str, str], change: dict[str, str], name: str, says: str
) -> None:
    """With its key and reason, and without secrets."""
    config_warnings = validator.examine({**base, **change})[1]
    if says:
        ((key, message),) = [(each.name, each.message) for each in config_warnings]
        assert key == name
        assert message.endswith(says)
    assert "geheim" not in str(config_warnings)


@pytest.mark.parametrize(
    "change",
    [
        {**HOIST, "transforms.h.negate": "true", "transforms.h.predicate": "p", "predicates": "p",
         "predicates.p.type": CONNECT + "transforms.predicates.TopicNameMatches", "predicates.p.pattern": "x"},
        {"topic.creation.groups": "g", "topic.creation.g.include": "x", "topic.creation.g.cleanup.policy": "compact",
         "topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1",
         "admin.override.retries": "2147483647"},
        {"plugin.call.timeout.ms": "1000", "plugin.isolation": "connector", "plugin.environment.APP_X": "1",
         "errors.task.restart.max": "3", "worker.configuration": "default",
         "producer.override.linger.ms": "5", "file": "${env:SECRET}"},
        {"transforms": "a", "transforms.a.type": "Nope", "transforms.a.field": "f", "value.converter": "Nope",
         "value.converter.schemas.enable": "false"},
        {"connector.plugin.version": "9", "zz": "1"},
    ],
)  # fmt: skip
def test_effective_settings_have_no_warning(validator: ConnectorValidator, change: dict[str, str]) -> None:
    """Nor do settings whose plugin is missing, because their effect is unknown."""
    assert validator.examine({**SOURCE, **change})[1] == []


@pytest.mark.parametrize(
    ("change", "name", "near"),
    [
        ({"transforms": "a", "transforms.a.type": "HoistFeild$Value"}, "transforms.a.type", "HoistField$Value"),
        ({"predicates": "a", "predicates.a.type": "TopicNameMatch"}, "predicates.a.type", "TopicNameMatches"),
        ({"value.converter": "JsonConvertr"}, "value.converter", "JsonConverter"),
        ({"header.converter": "SimpleHeader"}, "header.converter", "SimpleHeaderConverter"),
    ],
)
def test_an_unknown_class_has_a_warning_with_the_nearest_names(
    validator: ConnectorValidator, change: dict[str, str], name: str, near: str
) -> None:
    """The error itself has Kafka Connect's exact message, so the help is separate."""
    result, config_warnings = validator.examine({**SOURCE, **change})
    (config_warning,) = config_warnings
    assert result["error_count"] == 1
    assert (config_warning.name, config_warning.is_help) == (name, True)
    assert config_warning.message.startswith("nearest names: ")
    assert near in config_warning.message


def test_a_setting_that_ends_in_type_names_no_class(tmp_path: Path) -> None:
    """A transformation may have such a setting; its error lists the values."""
    wrong = "transforms.a.target.type"
    config = {**SOURCE, "transforms": "a", "transforms.a.type": f"{CONNECT}X", wrong: "Timestmp"}
    infos = [
        {"definition": {"name": name}, "value": {"name": name, "errors": ["wrong"] if name == wrong else []}}
        for name in config
    ]
    known = directory(tmp_path)
    source = known.catalogue.find("FileStreamSource", PluginType.SOURCE)
    assert known.catalogue.nearest("Timestmp", PluginType.TRANSFORMATION)
    assert ConfigWarnings(source, known, WorkerConfig(WORKER), config, {"configs": infos}).of_keys() == []
