"""The keys of the source connector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hearth_api import ConfigError, ConfigType, Importance, Lambda, Password, Recommender, ValidString, Width, key
from hearth_api.java import PatternError, compile_pattern
from hearth_jdbc.connection_setting import DATABASE, ConnectionSettings, one_of
from hearth_jdbc.dialect.source_dialect import SourceDialect
from hearth_jdbc.table_recommender import TableRecommender

MODE, CONNECTOR = "Mode", "Connector"
BULK, TIMESTAMP, INCREMENTING, BOTH = "bulk", "timestamp", "incrementing", "timestamp+incrementing"
LARGE_BATCH = 10_000
"""Most rows of a batch if `batch.max.rows` is not set."""
TABLES = "tables"
"""A task's key: the names of its tables."""
_GRANULARITIES = (
    "connect_logical", "micros_long", "micros_string", "micros_iso_datetime_string", "nanos_long", "nanos_string",
    "nanos_iso_datetime_string",
)  # fmt: skip
_MAPPINGS = ("none", "precision_only", "best_fit", "best_fit_eager_double")
_ISOLATIONS = (
    "default", "read_uncommitted", "read_committed", "repeatable_read", "serializable", "sql_server_snapshot",
)  # fmt: skip
_TOPIC = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_MOST_OF_A_TOPIC = 249
WITHOUT_EFFECT = {
    "max.buffer.size": "rows are read when the host asks for them, so there is no buffer",
    "poll.linger.ms": "a poll returns the rows of one query at once",
    "table.monitoring.startup.polling.limit.ms": "the tables are listed before the tasks start",
}
"""Keys that are accepted, each with the reason why it does nothing."""


def _check_prefix(name: str, value: Any) -> None:
    text = (value or "").strip()
    if len(text) > _MOST_OF_A_TOPIC:
        raise ConfigError(name, value, f"is longer than {_MOST_OF_A_TOPIC} characters, as no topic may be")
    if not _TOPIC.issuperset(text):
        raise ConfigError(name, value, "has characters other than a-z, A-Z, 0-9, '.', '_' and '-'")


def _check_patterns(name: str, value: Any) -> None:
    for pattern in value or ():
        compiled(name, pattern)


def compiled(name: str, pattern: str) -> Any:
    """Return a pattern of a list of Java regular expressions."""
    try:
        return compile_pattern(pattern.strip())
    except PatternError as error:
        raise ConfigError(name, pattern, f"is no regular expression: {error}") from error


def column_mapping(name: str, entries: Sequence[str]) -> Iterator[tuple[Any, list[str]]]:
    """Yield pattern and columns of the entries `REGEX:[COLUMN|COLUMN]` or `REGEX:COLUMN`."""
    for entry in entries:
        pattern, colon, names = entry.strip().partition(":")
        is_list = name.startswith("timestamp")
        columns = names.strip().removeprefix("[").removesuffix("]").split("|") if is_list else [names]
        columns = [column.strip() for column in columns]
        is_bracketed = names.strip().startswith("[") and names.strip().endswith("]")
        if not colon or not all(columns) or is_list is not is_bracketed:
            form = "regex:[column|column]" if is_list else "regex:column"
            raise ConfigError(name, entry, f"is not of the form {form}")
        yield compiled(name, pattern), columns


def _check_mapping(name: str, value: Any) -> None:
    for _ in column_mapping(name, value or ()):
        pass


@dataclass(frozen=True)
class FieldRules:
    """The settings that decide the fields of records."""

    numeric_mapping: str = "none"
    timestamp_granularity: str = "connect_logical"
    zone: str = "UTC"
    is_hybrid: bool = True
    """Whether days before 15 October 1582 are of the Julian calendar, as in Java."""
    others_are_texts: bool = False
    """Whether columns of types that Kafka Connect lacks become texts."""


class _ShownByMode(Recommender):
    """Shows the keys of a column only in the modes that use it."""

    def valid_values(self, name: str, parsed_config: Any) -> list[Any]:
        return []

    def visible(self, name: str, parsed_config: Any) -> bool:
        mode = str(parsed_config.get("mode") or "")
        return mode != BULK and not (name.startswith("incrementing") and mode == TIMESTAMP)


_BY_MODE = _ShownByMode()
_TABLES = TableRecommender()
_PATTERNS = Lambda(_check_patterns, "a list of Java regular expressions")
_MAPPING = Lambda(_check_mapping, "a list of regex:column, or regex:[column|column] for timestamps")


class JdbcSourceConfig(ConnectionSettings):
    """Settings of the source."""

    table_whitelist: list[str] = key(
        "table.whitelist", default="", group=DATABASE, order_in_group=7, width=Width.LONG,
        display_name="Table Whitelist", recommender=_TABLES,
        doc="Tables to read, by name or by schema and name. Not together with other lists of tables.",
    )  # fmt: skip
    table_blacklist: list[str] = key(
        "table.blacklist", default="", group=DATABASE, order_in_group=8, width=Width.LONG,
        display_name="Table Blacklist", recommender=_TABLES, doc="Tables to leave out; all others are read.",
    )  # fmt: skip
    table_include_list: list[str] = key(
        "table.include.list", default="", check=_PATTERNS, group=DATABASE, order_in_group=9, width=Width.LONG,
        display_name="Tables Included (Regex)",
        doc="Regular expressions of tables to read, matched against the whole name with its schema.",
    )  # fmt: skip
    table_exclude_list: list[str] = key(
        "table.exclude.list", default="", check=_PATTERNS, group=DATABASE, order_in_group=10, width=Width.LONG,
        display_name="Tables Excluded (Regex)",
        doc="Regular expressions of tables to leave out of those in table.include.list.",
    )  # fmt: skip
    catalog_pattern: str | None = key(
        "catalog.pattern", default=None, group=DATABASE, order_in_group=11, width=Width.SHORT,
        display_name="Catalog pattern",
        doc="Pattern (% and _) of databases whose tables are listed, in MySQL and MariaDB. Not set: that of the"
        " the URL. Without effect where a connection has one database, such as in PostgreSQL.",
    )  # fmt: skip
    schema_pattern: str | None = key(
        "schema.pattern", default=None, importance=Importance.HIGH, group=DATABASE, order_in_group=12,
        width=Width.SHORT, display_name="Schema pattern",
        doc="Pattern (% and _) of the schemas whose tables are listed. Not set: all schemas.",
    )  # fmt: skip
    numeric_precision_mapping: bool = key(
        "numeric.precision.mapping", default=False, importance=Importance.LOW, group=DATABASE, order_in_group=13,
        width=Width.SHORT, display_name="Map Numeric Values By Precision",
        doc="The older form of numeric.mapping=precision_only.",
    )  # fmt: skip
    numeric_mapping: str | None = key(
        "numeric.mapping", default=None, check=one_of(*_MAPPINGS), importance=Importance.LOW, group=DATABASE,
        order_in_group=14, width=Width.SHORT, display_name="Map Numeric Values, Integral or Decimal",
        doc="Which NUMERIC columns become whole numbers or FLOAT64 instead of decimals: none, precision_only,"
        " best_fit or best_fit_eager_double.",
    )  # fmt: skip
    mode: str = key(
        "mode", default="", check=ValidString("", BULK, TIMESTAMP, INCREMENTING, BOTH), importance=Importance.HIGH,
        group=MODE, order_in_group=1, width=Width.MEDIUM, display_name="Table Loading Mode",
        dependents=("incrementing.column.name", "timestamp.column.name", "validate.non.null"),
        doc="bulk reads whole tables each time. incrementing finds new rows by a number that grows, timestamp finds"
        " new and changed rows by the time of the change, timestamp+incrementing by both.",
    )  # fmt: skip
    incrementing_column_name: str = key(
        "incrementing.column.name", default="", group=MODE, order_in_group=2, width=Width.MEDIUM,
        display_name="Incrementing Column Name", recommender=_BY_MODE,
        doc="Column whose value grows with each row. Empty: the table's auto-increment column.",
    )  # fmt: skip
    timestamp_column_name: list[str] = key(
        "timestamp.column.name", default="", group=MODE, order_in_group=3, width=Width.MEDIUM,
        display_name="Timestamp Column Name", recommender=_BY_MODE,
        doc="Column with the time of the last change; of several, the first that is not null.",
    )  # fmt: skip
    timestamp_columns_mapping: list[str] = key(
        "timestamp.columns.mapping", default="", check=_MAPPING, group=MODE, order_in_group=4, width=Width.LONG,
        display_name="Table To Timestamp Columns Mappings",
        doc="Timestamp columns by regular expression of the table: regex:[column|column]. Each table must match"
        " exactly one.",
    )  # fmt: skip
    incrementing_column_mapping: list[str] = key(
        "incrementing.column.mapping", default="", check=_MAPPING, group=MODE, order_in_group=5, width=Width.LONG,
        display_name="Table To Incrementing Column Mappings",
        doc="Incrementing column by regular expression of the table: regex:column. Each table must match exactly one.",
    )  # fmt: skip
    timestamp_initial: int | None = key(
        "timestamp.initial", default=None, importance=Importance.LOW, group=MODE, order_in_group=6,
        type=ConfigType.LONG, width=Width.MEDIUM, display_name="Unix time value of initial timestamp",
        recommender=_BY_MODE,
        doc="Milliseconds since 1970 after which rows are read if there is no offset yet; -1 for the current time.",
    )  # fmt: skip
    validate_non_null: bool = key(
        "validate.non.null", default=True, importance=Importance.LOW, group=MODE, order_in_group=7,
        width=Width.SHORT, display_name="Validate Non Null", recommender=_BY_MODE,
        doc="Refuse tables whose incrementing or timestamp columns allow null, since such rows are never read.",
    )  # fmt: skip
    query: str = key(
        "query", default="", group=MODE, order_in_group=8, width=Width.SHORT, display_name="Query",
        doc="SELECT statement to read instead of tables, into the topic topic.prefix. In other modes than bulk a"
        " WHERE clause is appended, so it must have none of its own at its end.",
    )  # fmt: skip
    query_masked: Password | None = key(
        "query.masked", default="", group=MODE, order_in_group=9, width=Width.SHORT,
        display_name="Query (Masked)", doc="The same as query, hidden like a password.",
    )  # fmt: skip
    query_suffix: str = key(
        "query.suffix", default="", importance=Importance.LOW, group=MODE, order_in_group=10, width=Width.MEDIUM,
        display_name="Query suffix", doc="Text at the end of each query, such as LIMIT 1000.",
    )  # fmt: skip
    transaction_isolation_mode: str = key(
        "transaction.isolation.mode", default="DEFAULT", check=one_of(*_ISOLATIONS), importance=Importance.LOW,
        group=MODE, order_in_group=11, width=Width.MEDIUM, display_name="Transaction Isolation Mode",
        doc="Isolation of the transactions that read.",
    )  # fmt: skip
    query_retry_attempts: int = key(
        "query.retry.attempts", default=-1, importance=Importance.LOW, group=MODE, order_in_group=12,
        width=Width.MEDIUM, display_name="Query Retry Attempts",
        doc="Failures of a query in a row after which the task fails; -1 to try for ever.",
    )  # fmt: skip
    bulk_split: bool = key(
        "bulk.split", default=False, importance=Importance.LOW, group=MODE, order_in_group=14, width=Width.SHORT,
        display_name="Split tables", unlisted=True,
        doc="Whether several tasks read one table in bulk mode where tasks.max exceeds the number of tables, each a"
        " range of the primary key. On PostgreSQL all parts are read from one snapshot. The parts mix in the topic.",
    )  # fmt: skip
    table_notifications: str = key(
        "table.notifications", default="none", check=one_of("none", "trigger"), importance=Importance.LOW, group=MODE,
        order_in_group=15, width=Width.SHORT, display_name="Notifications", unlisted=True,
        doc="trigger: the source creates a trigger on each table of PostgreSQL, whose notifications tell it at once"
        " that there are rows to read; poll.interval.ms counts in addition. none: the source looks at intervals.",
    )  # fmt: skip
    open_transactions: str = key(
        "open.transactions", default="wait", check=one_of("wait", "pass"), importance=Importance.LOW, group=MODE,
        order_in_group=13, width=Width.SHORT, display_name="Open transactions", unlisted=True,
        doc="wait: hand over a row only when no open transaction can commit a row that belongs before it. pass: as"
        " Confluent's connector does, which misses such rows.",
    )  # fmt: skip
    other_types: str = key(
        "other.types", default="skip", check=one_of("skip", "text", "nested"), importance=Importance.LOW,
        group=DATABASE, order_in_group=19, width=Width.SHORT, display_name="Other types", unlisted=True,
        doc="What becomes of columns whose type Kafka Connect lacks, such as arrays, ranges, intervals, addresses and"
        " geometries. text: they are fields with the database's own text. nested: arrays, maps and structs are Kafka"
        " Connect's ARRAY, MAP and STRUCT, the others texts. skip: records leave them out, as those of Confluent's"
        " connector do.",
    )  # fmt: skip
    table_types: list[str] = key(
        "table.types", default="TABLE", importance=Importance.LOW, group=CONNECTOR, order_in_group=1,
        width=Width.MEDIUM, display_name="Table Types",
        doc="Types of tables to list: TABLE, VIEW, PARTITIONED TABLE, MATERIALIZED VIEW, FOREIGN TABLE.",
    )  # fmt: skip
    poll_interval_ms: int = key(
        "poll.interval.ms", default=5000, importance=Importance.HIGH, group=CONNECTOR, order_in_group=2,
        width=Width.SHORT, display_name="Poll Interval (ms)", doc="Pause between two queries of a table.",
    )  # fmt: skip
    batch_max_rows: int = key(
        "batch.max.rows", default=1000, importance=Importance.LOW, group=CONNECTOR, order_in_group=3,
        width=Width.SHORT, display_name="Max Rows Per Batch",
        doc=f"Most rows of a batch. Where the key is not set, up to {LARGE_BATCH:,} rows, since they move as columns.",
    )  # fmt: skip
    max_buffer_size: int = key(
        "max.buffer.size", default=0, importance=Importance.LOW, group=CONNECTOR, order_in_group=4,
        width=Width.SHORT, display_name="Maximum Buffer Size", doc="Without effect.",
    )  # fmt: skip
    poll_linger_ms: int = key(
        "poll.linger.ms", default=5000, importance=Importance.LOW, group=CONNECTOR, order_in_group=5,
        type=ConfigType.LONG, width=Width.SHORT, display_name="Poll Linger Milliseconds", doc="Without effect.",
    )  # fmt: skip
    startup_polling_limit_ms: int = key(
        "table.monitoring.startup.polling.limit.ms", default=10_000, importance=Importance.LOW, type=ConfigType.LONG,
        group=CONNECTOR, order_in_group=6, doc="Without effect.",
    )  # fmt: skip
    table_poll_interval_ms: int = key(
        "table.poll.interval.ms", default=60_000, importance=Importance.LOW, group=CONNECTOR, order_in_group=7,
        type=ConfigType.LONG, width=Width.SHORT, display_name="Metadata Change Monitoring Interval (ms)",
        doc="Pause between two looks for new and dropped tables.",
    )  # fmt: skip
    topic_prefix: str = key(
        "topic.prefix", default="", check=Lambda(_check_prefix, "the beginning of a topic"),
        importance=Importance.HIGH, group=CONNECTOR, order_in_group=8, width=Width.MEDIUM,
        display_name="Topic Prefix",
        doc="Beginning of the topics, which end with the name of the table; with query the whole topic.",
    )  # fmt: skip
    timestamp_delay_interval_ms: int = key(
        "timestamp.delay.interval.ms", default=0, importance=Importance.HIGH, group=CONNECTOR, order_in_group=9,
        type=ConfigType.LONG, width=Width.MEDIUM, display_name="Delay Interval (ms)",
        doc="How old a timestamp must be before its row is read.",
    )  # fmt: skip
    timestamp_granularity: str = key(
        "timestamp.granularity", default="connect_logical", check=one_of(*_GRANULARITIES), importance=Importance.LOW,
        group=CONNECTOR, order_in_group=10, width=Width.MEDIUM, display_name="Timestamp granularity",
        doc="Form of timestamps in records: connect_logical is Connect's type of milliseconds, the others are numbers"
        " or texts of microseconds or nanoseconds.",
    )  # fmt: skip

    def source_dialect(self) -> SourceDialect:
        """Return the dialect of the database, to read as `other.types` says; an unknown one raises a ConfigError."""
        dialect = super().source_dialect()
        dialect.nests = self.other_types.lower() == "nested"
        return dialect

    @property
    def whole_query(self) -> str:
        """Return the query, "" if tables are read."""
        masked = self.query_masked
        return (self.query or (masked.value if masked is not None else "") or "").strip().rstrip(";")

    @property
    def notifies(self) -> bool:
        """Return whether triggers tell that tables have changed."""
        return self.table_notifications.lower() == "trigger"

    @property
    def limit(self) -> int:
        """Return the most rows of a batch."""
        return max(self.batch_max_rows, 1) if "batch.max.rows" in self.originals else LARGE_BATCH

    @property
    def uses_timestamp(self) -> bool:
        """Return whether rows are found by a timestamp."""
        return self.mode in (TIMESTAMP, BOTH)

    @property
    def uses_number(self) -> bool:
        """Return whether rows are found by an incrementing column."""
        return self.mode in (INCREMENTING, BOTH)

    def field_rules(self) -> FieldRules:
        """Return the rules for fields of records."""
        mapping = self.numeric_mapping or ("precision_only" if self.numeric_precision_mapping else "none")
        others = self.other_types.lower() != "skip"
        return FieldRules(mapping.lower(), self.timestamp_granularity.lower(), self.zone, self.is_hybrid, others)
