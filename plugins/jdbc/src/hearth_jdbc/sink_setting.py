"""The keys of the sink connector."""

from __future__ import annotations

from hearth_api import Importance, NonEmptyString, Range, Width, key
from hearth_jdbc.connection_setting import URL, ConnectionSettings, one_of

EXACTLY_ONCE = "Exactly Once"
WRITES, MAPPING, DDL, RETRIES = "Writes", "Data Mapping", "DDL Support", "Retries"
INSERT, UPSERT, UPDATE = "insert", "upsert", "update"
NONE, KAFKA, RECORD_KEY, RECORD_VALUE = "none", "kafka", "record_key", "record_value"
KAFKA_COLUMNS = ("__connect_topic", "__connect_partition", "__connect_offset")
WITHOUT_EFFECT = {
    "mssql.use.merge.holdlock": "it is for SQL Server",
    "table.types": "the sink writes to what has the table's name, of any type",
    "trim.sensitive.log": "no values are logged",
}
"""Keys that are accepted, each with the reason why it does nothing."""
_NOT_NEGATIVE = Range.at_least(0)


class JdbcSinkConfig(ConnectionSettings):
    """Settings of the sink."""

    connection_url: str = key(
        URL, importance=Importance.HIGH, group="Database", order_in_group=1, width=Width.LONG, display_name="JDBC URL",
        doc="Address of the database, such as jdbc:postgresql://host:5432/shop or jdbc:sqlite:/data/shop.db."
        " The word after jdbc: selects the dialect.",
    )  # fmt: skip
    insert_mode: str = key(
        "insert.mode", default=INSERT, check=one_of(INSERT, UPSERT, UPDATE), importance=Importance.HIGH, group=WRITES,
        order_in_group=1, width=Width.MEDIUM, display_name="Insert Mode",
        doc="insert adds rows. upsert adds rows or changes those that have their key. update only changes rows.",
    )  # fmt: skip
    batch_size: int = key(
        "batch.size", default=3000, check=_NOT_NEGATIVE, group=WRITES, order_in_group=2, width=Width.SHORT,
        display_name="Batch Size",
        doc="Most rows of a statement. Where the key is not set there is no bound, since rows move as columns.",
    )  # fmt: skip
    delete_enabled: bool = key(
        "delete.enabled", default=False, group=WRITES, order_in_group=3, width=Width.SHORT,
        display_name="Enable deletes",
        doc="Whether a record without value deletes the row of its key; requires pk.mode=record_key.",
    )  # fmt: skip
    table_types: list[str] = key(
        "table.types", default="TABLE", importance=Importance.LOW, group=WRITES, order_in_group=4, width=Width.MEDIUM,
        display_name="Table Types", doc="Without effect.",
    )  # fmt: skip
    replace_null_with_default: bool = key(
        "replace.null.with.default", default=True, importance=Importance.LOW, group=WRITES, order_in_group=5,
        width=Width.SHORT, display_name="Replace null value with default",
        doc="Whether null in a field whose schema has a default is written as the default.",
    )  # fmt: skip
    table_name_format: str = key(
        "table.name.format", default="${topic}", check=NonEmptyString(), group=MAPPING, order_in_group=1,
        width=Width.LONG, display_name="Table Name Format",
        doc="Name of the table, with ${topic} for the topic; it may begin with a schema and a point.",
    )  # fmt: skip
    pk_mode: str = key(
        "pk.mode", default=NONE, check=one_of(NONE, KAFKA, RECORD_KEY, RECORD_VALUE), importance=Importance.HIGH,
        group=MAPPING, order_in_group=2, width=Width.MEDIUM, display_name="Primary Key Mode",
        doc="What the primary key is: none, kafka (topic, partition and offset), record_key or record_value.",
    )  # fmt: skip
    pk_fields: list[str] = key(
        "pk.fields", default="", group=MAPPING, order_in_group=3, width=Width.LONG,
        display_name="Primary Key Fields",
        doc="Columns of the primary key. kafka: three names, or none for the usual ones. record_key: fields of the"
        " key, all if empty, or the name of the column for a key that is no struct. record_value: fields of the value,"
        " all if empty.",
    )  # fmt: skip
    fields_whitelist: list[str] = key(
        "fields.whitelist", default="", group=MAPPING, order_in_group=4, width=Width.LONG,
        display_name="Fields Whitelist", doc="Fields of the value to write beside the primary key; empty for all.",
    )  # fmt: skip
    date_timezone: str = key(
        "date.timezone", default="DB_TIMEZONE", check=one_of("db_timezone", "utc"), importance=Importance.LOW,
        group=MAPPING, order_in_group=6, width=Width.MEDIUM, display_name="Time Zone used for Date",
        doc="Zone in which the midnight (UTC) of a Date becomes a day: DB_TIMEZONE for db.timezone, or UTC.",
    )  # fmt: skip
    timestamp_fields_list: list[str] = key(
        "timestamp.fields.list", default="", group=MAPPING, order_in_group=7, width=Width.MEDIUM,
        display_name="Timestamp Fields Whitelist",
        doc="Fields with numbers or texts of microseconds or nanoseconds since 1970, or texts of ISO 8601, to write as"
        " timestamps.",
    )  # fmt: skip
    timestamp_precision_mode: str = key(
        "timestamp.precision.mode", default="microseconds", check=one_of("microseconds", "nanoseconds"),
        importance=Importance.LOW, group=MAPPING, order_in_group=8, width=Width.MEDIUM,
        display_name="Timestamp Precision Mode", doc="Unit of the numbers in timestamp.fields.list.",
    )  # fmt: skip
    string_column: str = key(
        "string.output.value.column.name", default="record_value", check=NonEmptyString(), importance=Importance.LOW,
        group=MAPPING, order_in_group=10, width=Width.MEDIUM, display_name="String Output Value Column Name",
        doc="Column for values that are texts, not structs.",
    )  # fmt: skip
    auto_create: bool = key(
        "auto.create", default=False, group=DDL, order_in_group=1, width=Width.SHORT, display_name="Auto-Create",
        doc="Whether a missing table is created.",
    )  # fmt: skip
    auto_evolve: bool = key(
        "auto.evolve", default=False, group=DDL, order_in_group=2, width=Width.SHORT, display_name="Auto-Evolve",
        doc="Whether missing columns are added; nothing is changed or dropped.",
    )  # fmt: skip
    mssql_use_merge_holdlock: bool = key(
        "mssql.use.merge.holdlock", default=True, importance=Importance.LOW, group="DML Support", order_in_group=1,
        width=Width.MEDIUM, display_name="SQL Server - Use HOLDLOCK in MERGE", doc="Without effect.",
    )  # fmt: skip
    max_retries: int = key(
        "max.retries", default=10, check=_NOT_NEGATIVE, group=RETRIES, order_in_group=1, width=Width.SHORT,
        display_name="Maximum Retries", doc="Failures in a row after which the task fails.",
    )  # fmt: skip
    retry_backoff_ms: int = key(
        "retry.backoff.ms", default=3000, check=_NOT_NEGATIVE, group=RETRIES, order_in_group=2, width=Width.SHORT,
        display_name="Retry Backoff (millis)", doc="Pause before records are written again.",
    )  # fmt: skip
    trim_sensitive_log: bool = key(
        "trim.sensitive.log", default=False, importance=Importance.LOW, group=RETRIES, order_in_group=3,
        doc="Without effect.", display_name="Trim sensitive log",
    )  # fmt: skip

    exactly_once_sink: str = key(
        "exactly.once.sink", default=NONE, check=one_of(NONE, "table"), group=EXACTLY_ONCE, order_in_group=1,
        width=Width.SHORT, display_name="Exactly once", unlisted=True,
        doc="table: the offsets of topic partitions are written to a table of the database, in the transactions of the"
        " rows, and win over those of the consumer group, so that each record is written exactly once. none: offsets"
        " are those of the consumer group, and records may be written again after a crash.",
    )  # fmt: skip
    exactly_once_table: str = key(
        "exactly.once.table", default="hearth_offsets", check=NonEmptyString(), group=EXACTLY_ONCE, order_in_group=2,
        width=Width.MEDIUM, display_name="Table of offsets", unlisted=True,
        doc="Table of exactly.once.sink=table, which is created if it is missing; connectors may share it.",
    )  # fmt: skip

    @property
    def is_exactly_once(self) -> bool:
        """Return whether offsets are written to the database."""
        return self.exactly_once_sink.lower() == "table"

    @property
    def mode(self) -> str:
        """Return the insert mode in lower case."""
        return self.insert_mode.lower()

    @property
    def keys_from(self) -> str:
        """Return the primary key mode in lower case."""
        return self.pk_mode.lower()

    @property
    def key_names(self) -> list[str]:
        """Return the names in `pk.fields`."""
        return [name.strip() for name in self.pk_fields if name.strip()]

    @property
    def limit(self) -> int | None:
        """Return the most rows of a statement, None for no bound."""
        return self.batch_size or None if "batch.size" in self.originals else None
