"""Keys of the HDFS sinks: what they mean together, and what is refused."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hearth_api import ConfigError
from hearth_storage.sink.hdfs_setting import HdfsSinkConfig
from hearth_storage.sink.store_sink import Hdfs3SinkConnector, HdfsSinkConnector

URL = "hdfs://127.0.0.1:9"


def settings(**more: str) -> dict[str, str]:
    """Return a configuration; a keyword stands for a key with points for underscores."""
    return {"name": "copy", "store.url": URL, "flush.size": "1000"} | {
        name.replace("_", "."): value for name, value in more.items()
    }


def faults(config: dict[str, str]) -> dict[str, str]:
    """Return the first message of each key at fault."""
    found = Hdfs3SinkConnector().validate(config).values
    return {value.name: value.error_messages[0] for value in found if value.error_messages}


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        ({"store_url": ""}, "store.url", "Configuration store.url cannot be empty."),
        ({"store_url": "/lake"}, "store.url", "is no address of HDFS: write hdfs://host:port"),
        ({"store_url": "", "hdfs_url": "s3a://bucket"}, "hdfs.url", "is no address of HDFS"),
        ({"hive_integration": "true"}, "hive.integration", "no Hive metastore is written to: set it to false"),
        ({"hadoop_conf_dir": "/none"}, "hadoop.conf.dir", "is no directory of this machine"),
        ({"hdfs_authentication_kerberos": "true"}, "connect.hdfs.principal", "is required with"),
        (
            {"hdfs_authentication_kerberos": "true", "connect_hdfs_principal": "c@R"},
            "connect.hdfs.keytab",
            "is required with",
        ),
        (
            {"hdfs_authentication_kerberos": "true", "connect_hdfs_principal": "c@R", "connect_hdfs_keytab": "/none"},
            "connect.hdfs.keytab",
            "/none is no file of this machine",
        ),
        ({"topics_dir": "${1}"}, "topics.dir", "cannot contain ${} without a valid topic.capture.groups.regex"),
        ({"logs_dir": "${name}"}, "logs.dir", "${name} is filled by nothing: write ${topic}"),
        ({"topic_capture_groups_regex": "("}, "topic.capture.groups.regex", "is no regular expression"),
        (
            {"format_class": "io.confluent.connect.hdfs.orc.OrcFormat"},
            "format.class",
            "is not known; did you mean AvroFormat or StringFormat?",
        ),
        ({"storage_class": "io.confluent.connect.s3.storage.S3Storage"}, "storage.class", "HdfsStorage"),
        ({}, "store.url", "Connection refused"),
    ],
)
def test_what_is_refused_says_what_to_do(more: dict[str, str], key: str, message: str) -> None:
    """Each under its key, before anything is written."""
    found = faults(settings(**more))
    assert list(found) == [key]
    assert message in found[key]


def test_directories_follow_from_the_topic() -> None:
    """As Java fills them."""
    more = {"topics_dir": "/${1}/${topic}/", "logs_dir": "l/${2}/${0}", "topic_capture_groups_regex": "([a-z]*)_(.*)"}
    config = HdfsSinkConfig(settings(**more))
    assert config.faults() == {}
    assert config.topics_directory("eu_orders") == "eu/eu_orders"
    assert config.logs_directory("eu_orders") == "l/orders/eu_orders"
    with pytest.raises(ConfigError, match="Topic orders does not fully match the specified regex"):
        config.topics_directory("orders")
    with pytest.raises(ConfigError, match="has no group 3"):
        HdfsSinkConfig(settings(**{**more, "logs_dir": "${3}"})).logs_directory("eu_orders")


def test_keys_without_effect_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """With the reason."""
    caplog.set_level(logging.INFO)
    connector = HdfsSinkConnector()
    connector.start(settings(hadoop_home="/opt/hadoop", hive_database="lake", shutdown_timeout_ms="3000"))
    found = "\n".join(record.getMessage() for record in caplog.records)
    for text in ("hadoop.home has no effect: the client", "hive.database has no effect", "shutdown.timeout.ms has no"):
        assert text in found


def test_hadoops_configuration_names_the_name_nodes(tmp_path: Path) -> None:
    """A name service of hdfs-site.xml in hadoop.conf.dir."""
    properties = {"dfs.ha.namenodes.lake": "a,b", "dfs.namenode.rpc-address.lake.a": "127.0.0.1:9"}
    text = "".join(f"<property><name>{each}</name><value>{properties[each]}</value></property>" for each in properties)
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{text}</configuration>")
    (tmp_path / "core-site.xml").write_text("<configuration></configuration>")
    assert (
        HdfsSinkConfig(settings(store_url="hdfs://lake", hadoop_conf_dir=str(tmp_path))).place().address
        == "hdfs://lake"
    )
