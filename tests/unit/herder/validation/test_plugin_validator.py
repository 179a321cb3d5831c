"""Plugins of bundles validate settings in their own process, with the same results as plugins of the host."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.discovery import Bundle, Catalogue, PluginType
from hearth.discovery.catalogue import read
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.validation import plugin_validator
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.herder.validation.result import complaint
from hearth.isolation.environment_store import EnvironmentStore, host_environment
from tests.bundles import build
from tests.unit.herder import catalogue as known
from tests.unit.herder import stand_in
from tests.unit.herder.catalogue import CLASSES, CONNECT, GOLDEN, WORKER

MINIMAL = GOLDEN["cases"]["source minimal"]["config"]
CASES = {
    name: case["config"]
    for name, case in GOLDEN["cases"].items()
    if "message" not in case and any(word in str(case["config"]) for word in ("transforms", "predicates", "converter"))
}
BUNDLED = """
import os, time
from hearth_api import ConfigDef, ConfigType, Converter, HeaderConverter, Lambda, Predicate, Transformation
import stand_in
from stand_in import Source

def of(keys, *kinds):
    made = type(keys.__name__, (keys, *kinds), {})
    made.__abstractmethods__ = frozenset()
    return made

RegexRouter, HoistField, InsertField = (
    of(each, Transformation) for each in (stand_in.RegexRouter, stand_in.HoistField, stand_in.InsertField)
)
TopicNameMatches = of(stand_in.TopicNameMatches, Predicate)
JsonConverter, StringConverter, SimpleHeaderConverter = (
    of(each, Converter, HeaderConverter)
    for each in (stand_in.JsonConverter, stand_in.StringConverter, stand_in.SimpleHeaderConverter)
)

def do(name, value):
    stand_in._do("now", {"do.now": value})

class Doing:
    def config(self):
        return ConfigDef().define("now", ConfigType.STRING, "", Lambda(do, "any"))

Doer = of(Doing, Transformation)
ConverterDoer = of(Doing, Converter)

class Saying:
    def config(self):
        return None

Silent = of(Saying, Transformation)
"""
DOERS = {
    "org.example.Doer": (PluginType.TRANSFORMATION, "Doer"),
    "org.example.Silent": (PluginType.TRANSFORMATION, "Silent"),
    "org.example.ConverterDoer": (PluginType.CONVERTER, "ConverterDoer"),
    "org.example.Missing": (PluginType.PREDICATE, "NotThere"),
}
HANGING = {"type": "org.example.Doer", "now": "hang"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Create a bundle with the stand-ins of this folder and failing plugins."""
    site = tmp_path_factory.mktemp("site")
    build.site(site, "bundled", groups={"hearth.transformations": {"org.example.Doer": "bundled:Doer"}})
    (site / "bundled.py").write_text(BUNDLED)
    shutil.copy(stand_in.__file__, site / "stand_in.py")
    found = read(site)
    assert isinstance(found, Bundle)
    return found


def catalogue(bundle: Bundle) -> Catalogue:
    """Return stand-ins for Kafka's plugins, all but connectors moved to a bundle, and failing ones."""
    moved = {CONNECT + name: f"bundled:{class_name}" for name, class_name in CLASSES.items()}
    plugins = [
        replace(each, bundle=bundle, reference=moved[each.class_name]) if each.class_name in moved else each
        for each in known.catalogue().plugins
    ]
    for class_name, (type_, python) in DOERS.items():
        plugins.append(replace(known.plugin(class_name, type_, ""), bundle=bundle, reference=f"bundled:{python}"))
    own = known.plugin("org.example.BundledSource", PluginType.SOURCE, "")
    return Catalogue([*plugins, replace(own, bundle=bundle, reference="bundled:Source")])


@pytest.fixture
def pool() -> Iterator[StagePool]:
    """Provide the processes of a validator."""
    made = StagePool()
    yield made
    made.close()


@pytest.fixture
def validator(bundle: Bundle, pool: StagePool, tmp_path: Path) -> ConnectorValidator:
    """Return a validator whose converters and transformations are in a bundle."""
    found = catalogue(bundle)
    return ConnectorValidator(PluginDirectory(lambda: found, EnvironmentStore(tmp_path)), WorkerConfig(WORKER), pool)


def complaints(result: dict[str, Any]) -> dict[str, list[str]]:
    """Return the errors of all keys."""
    values = [config["value"] for config in result["configs"]]
    return {value["name"]: value["errors"] for value in values if value["errors"]}


def doing(deed: str, **more: str) -> dict[str, str]:
    """Return a configuration whose transformation fails while it validates a key."""
    return {**MINIMAL, "transforms": "d", "transforms.d.type": "org.example.Doer", "transforms.d.now": deed, **more}


def test_the_result_equals_that_of_plugins_of_the_host(validator: ConnectorValidator, tmp_path: Path) -> None:
    """Order, groups, definitions, values, recommendations, visibility and messages, for all of Kafka's responses."""
    pool = StagePool()
    beside = ConnectorValidator(known.directory(tmp_path / "beside"), WorkerConfig(WORKER), pool)
    try:
        for name, config in CASES.items():
            ours, hosts = validator.validate(config), beside.validate(config)
            for config_info in (*ours["configs"], *hosts["configs"]):
                if str(config_info["value"]["name"]).endswith(("type", "converter")):
                    del config_info["value"]["recommended_values"]  # plugins that exist only for this test
            assert ours == hosts, name
    finally:
        pool.close()


def test_a_missing_key_has_kafkas_message(validator: ConnectorValidator) -> None:
    """Before any task starts."""
    config = {**MINIMAL, "transforms": "h", "transforms.h.type": f"{CONNECT}transforms.HoistField$Value"}
    assert complaint(validator.validate(config)) == (
        "Connector configuration is invalid and contains the following 1 error(s):\n"
        'Missing required configuration "transforms.h.field" which has no default value.\n'
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        ("raise", "RuntimeError: now does not work today"),
        ("exit", "the stage process of org.example.Doer exited with 7"),
        ("hang", "the stage process of org.example.Doer did not answer 'validate' within 1 s"),
    ],
)
def test_a_failing_plugin_is_an_error_of_its_class_key(validator: ConnectorValidator, deed: str, says: str) -> None:
    """With Kafka's message for a class that cannot be configured; the next validation gets a working process."""
    begun = time.monotonic()
    result = validator.validate(doing(deed, **{"plugin.call.timeout.ms": "1000"}))
    assert complaints(result) == {
        "transforms.d.type": [
            "Invalid value class org.example.Doer for configuration transforms.d.type: "
            f"Error getting config definition from Transformation: {says}"
        ]
    }
    assert time.monotonic() - begun < 30
    assert complaint(validator.validate(doing(""))) is None


def test_plugins_that_hang_share_one_time_limit(
    validator: ConnectorValidator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validation waits no longer for several, and reports each."""
    monkeypatch.setattr(plugin_validator, "ANSWER_SECONDS", 2.0)
    more = {f"transforms.{alias}.{key}": value for alias in "ab" for key, value in HANGING.items()}
    found = complaints(validator.validate({**MINIMAL, "transforms": "a,b", **more}))
    assert list(found) == ["transforms.a.type", "transforms.b.type"]
    assert "did not answer 'validate' within" in found["transforms.a.type"][0]
    assert found["transforms.b.type"][0].endswith("within 1 s")


@pytest.mark.parametrize(
    ("class_name", "listed", "interface", "says"),
    [
        ("org.example.Silent", "transforms", "Transformation", "must return a ConfigDef that is not null."),
        ("org.example.Missing", "predicates", "Predicate", "module 'bundled' has no attribute 'NotThere'"),
    ],
)
def test_a_class_without_a_definition_is_an_error_of_its_key(
    validator: ConnectorValidator, class_name: str, listed: str, interface: str, says: str
) -> None:
    """Nothing is skipped silently."""
    result = validator.validate({**MINIMAL, listed: "a", f"{listed}.a.type": class_name})
    ((name, messages),) = complaints(result).items()
    assert name == f"{listed}.a.type"
    assert f"Error getting config definition from {interface}: " in messages[0]
    assert says in messages[0]


def test_a_failing_converter_is_an_error_of_its_key(validator: ConnectorValidator) -> None:
    """With Kafka's message for converters."""
    config = {**MINIMAL, "key.converter": "org.example.ConverterDoer", "key.converter.now": "raise"}
    assert complaints(validator.validate(config)) == {
        "key.converter": ["Failed to load ConfigDef from key converter: RuntimeError: now does not work today"]
    }


def test_an_invalid_timeout_is_not_reported_by_validation(validator: ConnectorValidator) -> None:
    """The start of the connector rejects it."""
    assert complaint(validator.validate(doing("", **{"plugin.call.timeout.ms": "soon"}))) is None


def test_plugins_of_one_environment_share_a_process_with_their_connector(
    validator: ConnectorValidator, pool: StagePool
) -> None:
    """However many there are, including converters."""
    config = doing("", **{"connector.class": "org.example.BundledSource"})
    config.update({"predicates": "p", "predicates.p.type": f"{CONNECT}transforms.predicates.TopicNameMatches"})
    config.update({"predicates.p.pattern": "a", "value.converter": f"{CONNECT}json.JsonConverter"})
    assert complaint(validator.validate(config)) is None
    assert len(pool._processes._made) == 1


def test_plugins_of_the_host_need_no_process(tmp_path: Path, pool: StagePool) -> None:
    """Only the connector has one, or shares one."""
    beside = ConnectorValidator(known.directory(tmp_path), WorkerConfig(WORKER), pool)
    config = {**MINIMAL, "transforms": "h", "transforms.h.type": f"{CONNECT}transforms.HoistField$Value"}
    beside.validate({**config, "transforms.h.field": "f", "value.converter": f"{CONNECT}json.JsonConverter"})
    (process,) = pool._processes._made
    assert process.environment == host_environment()
    assert len(process._gone) == 1
