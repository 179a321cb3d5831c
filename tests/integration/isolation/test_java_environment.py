"""The JVM of a Java plugin starts with the options and the heap that were configured."""

from __future__ import annotations

import contextlib
import zipfile
from pathlib import Path

import pytest

from hearth.config.confinement_key import Confinement
from hearth.config.java_key import Jvm
from hearth.isolation.environment import Environment
from hearth.isolation.java_environment import java_environment
from hearth.isolation.stage import Stage
from hearth_api import INT64_SCHEMA, Schema, SchemaBuilder, SinkRecord, Struct
from hearth_api.batch import Batch, batch_to_sink_records, records_to_batches
from hearth_execution.failure import RemoteError
from hearth_execution.order import number_rows
from hearth_execution.transformation import Step
from hearth_stage.conversion_call import Cells, Serialize
from hearth_stage.limit import Limits
from hearth_stage.plugin_call import Configure, Describe, KeyInfo, Load, WantedPlugin
from hearth_stage.transformation_call import Apply
from tests.java_sample import compile_sample
from tests.timeouts import TIMEOUT, eventually

POM = """\
<project><dependencies>
<dependency><groupId>org</groupId><artifactId>general</artifactId></dependency>
<dependency><groupId> org.lacking </groupId><artifactId>helper</artifactId><version>1</version></dependency>
<dependency><groupId>org.lacking.part</groupId><artifactId>part</artifactId></dependency>
<dependency><groupId>com.there</groupId><artifactId>there</artifactId></dependency>
</dependencies></project>
"""
HERE = Path(__file__).parent
OPENED = "--add-opens=java.base/java.lang=ALL-UNNAMED"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return the environment of a jar without all that it needs."""
    classes, jars = tmp_path_factory.mktemp("classes"), tmp_path_factory.mktemp("jars")
    stage = compile_sample(HERE / "java", classes)
    with zipfile.ZipFile(jars / "odd-1.jar", "w") as archive:
        for each in (classes / "odd").iterdir():
            archive.write(each, f"odd/{each.name}")
        archive.writestr("META-INF/maven/odd/odd/pom.xml", POM)
    return java_environment("odd", jars, stage, "odd")


def described(environment: Environment, name: str = "Closed") -> list[KeyInfo]:
    """Return the keys of a plugin."""
    stage = Stage.start(environment, "odd")
    try:
        return stage.call(Describe(f"odd.{name}", "transformation")).config
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


def test_missing_class_is_named_with_the_artifact_that_would_have_it(environment: Environment) -> None:
    """The one whose group fits best among those that the poms in the bundle name and the bundle lacks."""
    with pytest.raises(RemoteError) as caught:
        described(environment, "Lacking")
    remedy = "put the jar of org.lacking:helper into the bundle, whose pom names it"
    assert str(caught.value).endswith(f"org/lacking/Helper; {remedy}")
    assert caught.value.info.trace.endswith(f"\n{remedy}")


def test_struct_inside_itself_overflows_in_jsons_converter_as_in_java(environment: Environment) -> None:
    """Kafka's other classes take it; after the overflow the stage goes on."""
    builder = SchemaBuilder.struct().name("Node").field("id", INT64_SCHEMA)
    following = builder.itself(optional=True)
    node = builder.field("next", following).build()
    value = Struct(node).put("id", 1).put("next", Struct(following).put("id", 2))
    kafka = "org.apache.kafka.connect"
    named = {
        "transforms.a": f"{kafka}.transforms.HoistField$Value",
        "transforms.b": f"{kafka}.transforms.ExtractField$Value",
        "key.converter": f"{kafka}.storage.StringConverter",
        "value.converter": f"{kafka}.json.JsonConverter",
    }
    with contextlib.closing(Stage.start(environment, "odd")) as stage:
        stage.call(Configure("sink", 0, 1))
        stage.call(Load([WantedPlugin(role, name, name, {"field": "line"}) for role, name in named.items()]))
        steps = [Step("transforms.a"), Step("transforms.b")]
        (batch,) = stage.call(Apply(steps, _batches(node, value))).batches
        (record,) = batch_to_sink_records(batch)
        assert (record.value_schema, record.value) == (node, value)
        with pytest.raises(RemoteError) as raised:
            stage.call(Serialize(["value.converter"], "t", Cells.of(batch.select(["value", "row"]))))
        assert raised.value.info.class_name == "java.lang.StackOverflowError"
        keys = number_rows(records_to_batches([SinkRecord("t", 0, node, value, None, None, kafka_offset=0)])[0])
        written = stage.call(Serialize(["key.converter"], "t", Cells.of(keys.select(["key", "row"]))))
        assert written.columns["key"].to_pylist() == [b"Struct{id=1,next=Struct{id=2}}"]


def test_log_has_what_java_connect_logs(environment: Environment, caplog: pytest.LogCaptureFixture) -> None:
    """The values of each converter once; nothing about the stage's own converter and its Arrow."""
    json = "org.apache.kafka.connect.json.JsonConverter"
    with caplog.at_level("INFO"), contextlib.closing(Stage.start(environment, "odd")) as stage:
        stage.call(Configure("sink", 0, 1))
        stage.call(Load([WantedPlugin(f"{side}.converter", json, json, {}) for side in ("key", "value")]))
        (batch,) = records_to_batches([SinkRecord("t", 0, None, None, INT64_SCHEMA, 1, kafka_offset=0)])
        stage.call(Serialize(["value.converter"], "t", Cells.of(number_rows(batch).select(["value", "row"]))))
        assert eventually(lambda: len(caplog.records) >= 2, TIMEOUT)
    logged = [each.getMessage().partition("\n")[0].strip() for each in caplog.records]
    assert logged == ["JsonConverterConfig values:"] * 2


def _batches(schema: Schema, value: Struct) -> list[Batch]:
    return list(map(number_rows, records_to_batches([SinkRecord("t", 0, None, None, schema, value, kafka_offset=0)])))
