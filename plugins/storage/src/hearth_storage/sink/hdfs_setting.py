"""The keys of HDFS."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from hearth_api import ConfigError, Importance, Lambda, NonEmptyString, Settings, Width, key
from hearth_storage.class_choice import choice
from hearth_storage.format.format import FORMAT, FORMATS
from hearth_storage.place.client_option import STORAGE, storage_check
from hearth_storage.place.place import Place
from hearth_storage.sink.sink_setting import CONNECTOR, WITHOUT_EFFECT, StorageSinkConfig

HDFS, SECURITY, HIVE = "HDFS", "Security", "Hive"
_SCHEMES = ("hdfs", "viewfs")
_TOPIC, _REGEX = "${topic}", "topic.capture.groups.regex"
_GROUP, _ANY = re.compile(r"\$\{(\d+)}"), re.compile(r"\$\{.*}")
_NO_HIVE = "no Hive metastore is written to"
HDFS_WITHOUT_EFFECT = {
    **WITHOUT_EFFECT,
    "hadoop.home": "the client needs no files of Hadoop",
    "hdfs.namenode.principal": "the name node tells its principal",
    "kerberos.ticket.renew.period.ms": "tickets are taken from the keytab when they are needed",
    "file.delim": "names of files in HDFS have +, as Confluent's",
    "enable.conditional.writes": "renames in HDFS never replace a file",
    **{f"hive.{name}": _NO_HIVE for name in ("metastore.uris", "conf.dir", "home", "database", "table.name")},
}
"""Keys that are accepted, each with the reason why it does nothing."""


def _check_url(name: str, value: Any) -> None:
    scheme, found, rest = str(value or "").partition("://")
    if value and not (found and rest and scheme in _SCHEMES):
        raise ConfigError(name, value, "is no address of HDFS: write hdfs://host:port or hdfs://nameservice")


def _check_hive(name: str, value: Any) -> None:
    if value:
        raise ConfigError(
            name, value, f"{_NO_HIVE}: set it to false, and let MSCK REPAIR TABLE or ALTER TABLE find the directories"
        )


def _check_folder(name: str, value: Any) -> None:
    if value and not Path(value).is_dir():
        raise ConfigError(name, value, "is no directory of this machine")


def _check_pattern(name: str, value: Any) -> None:
    try:
        re.compile(str(value or ""))
    except re.error as error:
        raise ConfigError(name, value, f"is no regular expression: {error}") from error


class HdfsPlaceConfig(Settings):
    """How to reach a directory of HDFS."""

    hdfs_url: str | None = key(
        "hdfs.url", default=None, check=Lambda(_check_url, "an address of HDFS"), importance=Importance.HIGH,
        group=HDFS, order_in_group=1, display_name="HDFS URL", doc="The older name of store.url, which wins.",
    )  # fmt: skip
    conf_dir: str = key(
        "hadoop.conf.dir", default="", check=Lambda(_check_folder, "a directory"), importance=Importance.HIGH,
        group=HDFS, order_in_group=2, display_name="Hadoop Configuration Directory",
        doc="Directory of core-site.xml and hdfs-site.xml, on every executor. Empty: HADOOP_CONF_DIR or HADOOP_HOME of"
        " the environment.",
    )  # fmt: skip
    kerberos: bool = key(
        "hdfs.authentication.kerberos", default=False, importance=Importance.HIGH, group=SECURITY, order_in_group=1,
        display_name="HDFS Authentication Kerberos", doc="Whether connect.hdfs.principal signs in; the executors need"
        " the library libgssapi_krb5. Else the user is HADOOP_USER_NAME, or that of the process.",
    )  # fmt: skip
    principal: str = key(
        "connect.hdfs.principal", default="", importance=Importance.HIGH, group=SECURITY, order_in_group=2,
        display_name="Connect Kerberos Principal", doc="Principal that signs in.",
    )  # fmt: skip
    keytab: str = key(
        "connect.hdfs.keytab", default="", importance=Importance.HIGH, group=SECURITY, order_in_group=3,
        display_name="Connect Kerberos Keytab", doc="Keytab file of the principal, on every executor.",
    )  # fmt: skip
    store_url: str | None = key(
        "store.url", default=None, check=Lambda(_check_url, "an address of HDFS"), importance=Importance.HIGH,
        group=STORAGE, order_in_group=3, width=Width.LONG, display_name="Store URL",
        doc="Address of HDFS, with a directory if files are not to be below its root: hdfs://namenode:8020/lake.",
    )  # fmt: skip

    @property
    def url(self) -> str:
        """Return the address, empty if there is none."""
        return (self.store_url or self.hdfs_url or "").strip()

    def place(self) -> Place:
        """Return the directory."""
        from hearth_storage.place.hdfs_place import HdfsPlace, client_of

        given = {"kerberos_principal": self.principal, "kerberos_keytab": self.keytab} if self.kerberos else {}
        return HdfsPlace(self.url, client_of(self.url, self.conf_dir or None, **given))


class HdfsSinkConfig(HdfsPlaceConfig, StorageSinkConfig):
    """Settings of the sinks to HDFS."""

    known_formats: ClassVar[Mapping[str, str]] = {
        **FORMATS,
        "ParquetFormat": "hearth_storage.format.parquet:PlainParquetFormat",
    }

    logs_dir: str = key(
        "logs.dir", default="logs", check=NonEmptyString(), importance=Importance.HIGH, group=HDFS, order_in_group=3,
        display_name="Logs directory", doc="Directory of the logs of commits. ${topic} stands for the topic, ${1} for"
        " a group of topic.capture.groups.regex.",
    )  # fmt: skip
    topics_dir: str = key(
        "topics.dir", default="topics", check=NonEmptyString(), importance=Importance.HIGH, group=STORAGE,
        order_in_group=2, display_name="Topics directory", doc="Directory above those of the topics. ${topic} stands"
        " for the topic, ${1} for a group of topic.capture.groups.regex.",
    )  # fmt: skip
    storage_class: str = key(
        "storage.class", default="io.confluent.connect.hdfs.storage.HdfsStorage",
        check=storage_check("io.confluent.connect.hdfs.storage.HdfsStorage"), importance=Importance.HIGH,
        group=STORAGE, order_in_group=1, display_name="Storage Class",
        doc="io.confluent.connect.hdfs.storage.HdfsStorage or that of hdfs3, which are one.",
    )  # fmt: skip
    format_class: str = key(
        "format.class", default="io.confluent.connect.hdfs.avro.AvroFormat", check=choice(FORMATS, FORMAT),
        importance=Importance.HIGH, group=CONNECTOR, order_in_group=1, display_name="Format class",
        doc="Format of the files: Confluent's AvroFormat, JsonFormat, ParquetFormat, ByteArrayFormat or StringFormat,"
        " in any of its packages, or a class of one's own.",
    )  # fmt: skip
    groups: str | None = key(
        _REGEX, default=None, check=Lambda(_check_pattern, "a regular expression"),
        importance=Importance.LOW, group=STORAGE, order_in_group=7, width=Width.LONG,
        display_name="Topic Capture Groups Regex",
        doc="Expression that matches whole topics; its groups are ${1} and so on in topics.dir and logs.dir.",
    )  # fmt: skip
    hive: bool = key(
        "hive.integration", default=False, check=Lambda(_check_hive, "false"), importance=Importance.HIGH, group=HIVE,
        order_in_group=1, display_name="Hive Integration", doc="Only false: files and directories are Hive's, but no"
        " metastore is told of them.",
    )  # fmt: skip

    def faults(self) -> dict[str, str]:
        """Return what Java refuses at start: no address, half of Kerberos, words in directories that nothing fills."""
        found = {}
        if not self.url:
            found["store.url"] = "Configuration store.url cannot be empty."
        if self.kerberos and not (self.principal and self.keytab):
            name = "connect.hdfs.keytab" if self.principal else "connect.hdfs.principal"
            found[name] = "is required with hdfs.authentication.kerberos=true"
        elif self.kerberos and not Path(self.keytab).is_file():
            found["connect.hdfs.keytab"] = f"{self.keytab} is no file of this machine"
        for name, text in (("topics.dir", self.topics_dir), ("logs.dir", self.logs_dir)):
            left = _ANY.search(_GROUP.sub("", text).replace(_TOPIC, ""))
            if left:
                found[name] = f"{left[0]} is filled by nothing: write {_TOPIC}, or ${{1}} for a group"
            elif _GROUP.search(text) and self.groups is None:
                found[name] = f"{name} cannot contain ${{}} without a valid {_REGEX} being configured."
        return found

    def topics_directory(self, topic: str) -> str:
        """Return `topics.dir` for a topic; raises ConfigError if topic.capture.groups.regex does not match it."""
        return self._filled(self.topics_dir, topic)

    def logs_directory(self, topic: str) -> str:
        """Return `logs.dir` for a topic; raises ConfigError if topic.capture.groups.regex does not match it."""
        return self._filled(self.logs_dir, topic)

    def _filled(self, directory: str, topic: str) -> str:
        filled = directory.replace(_TOPIC, topic).strip("/")
        if self.groups is None:
            return filled
        match = re.fullmatch(self.groups, topic)
        if match is None:
            raise ConfigError(_REGEX, self.groups, f"Topic {topic} does not fully match the specified regex.")
        numbers = [int(each) for each in _GROUP.findall(filled)]
        if max(numbers, default=0) > len(match.groups()):
            raise ConfigError(_REGEX, self.groups, f"has no group {max(numbers)}, which {directory} names")
        return _GROUP.sub(lambda each: match[int(each[1])] or "", filled)
