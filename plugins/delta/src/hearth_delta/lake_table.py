"""One Delta table: what a flush brings becomes one commit, which holds the offsets of its records as well.

A commit carries, for each topic partition, a transaction identifier of Delta's protocol: `txn(appId, version)`, where
`appId` is connector, topic and partition and `version` the offset of the last record. Of two writers that have read
the same state of the table and commit the same `appId`, Delta lets the first succeed. The other one then reads the
table again and finds that its rows are there. So a task that has lost a partition, and does not know it yet, or a
commit whose answer was lost, writes nothing twice.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from hearth_api import ConnectError, TopicPartition
from hearth_delta.delta_setting import DeltaSinkConfig
from hearth_delta.fitting import fitted, missing_fields, position_of
from hearth_delta.rows import DELETED, Rows, last_of_each_key

STORE_ERRORS = (DeltaError, OSError)
"""What deltalake raises."""
_ATTEMPTS = 20
_LONGEST_PAUSE = 0.2
_SOURCE, _TARGET = "source", "target"

_log = logging.getLogger(__name__)


class LakeTable:
    """A table as one connector writes it."""

    def __init__(self, settings: DeltaSinkConfig, connector: str, address: str) -> None:
        """Store where the table is; the first use loads it."""
        self._settings = settings
        self._connector = connector
        self._options = settings.storage_options()
        self._table: DeltaTable | None = None
        self._schema: Any = None
        self.address = address

    def forget(self) -> None:
        """Load the table again before its next use, since another writer, or a commit without answer, changed it."""
        self._table = None

    def positions(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets after the last records in the table, of the topic partitions that have any there."""
        if not self._load():
            return {}
        found = {place: self._position(place) for place in places}
        return {place: offset for place, offset in found.items() if offset}

    def set_position(self, place: TopicPartition, offset: int) -> None:
        """Store the offset after the last record by hand; 0 for none."""
        if self._load():
            self._commit_offsets({place: offset})

    def prepared(self, rows: Any) -> Any:
        """Return rows with the columns of the table, which is created or extended if that is configured.

        Raises ConnectError if it is not, and DataError for rows that do not fit.
        """
        deleted = rows.column(DELETED) if DELETED in rows.schema.names else None
        if deleted is not None:
            rows = rows.drop_columns([DELETED])
        self._again(lambda: self._admit(rows.schema))
        found = fitted(rows, self._schema)
        return found if deleted is None else found.append_column(DELETED, deleted)

    def commit(self, parts: Sequence[Rows], keys: Sequence[str]) -> int:
        """Commit the rows that the table lacks; merge them by `keys` if there are any. Return how many it had."""
        known: int = self._again(lambda: self._commit(parts, keys))
        return known

    def _again(self, act: Any) -> Any:
        """Act; load the table and act again each time another writer was faster."""
        for attempt in range(_ATTEMPTS):
            try:
                return act()
            except CommitFailedError as error:
                _log.debug("table %s: %s", self.address, words(error))
                self.forget()
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(random.uniform(0, _LONGEST_PAUSE))
        raise AssertionError("unreachable")

    def _commit(self, parts: Sequence[Rows], keys: Sequence[str]) -> int:
        places = {place for part in parts for place in part.places()}
        starts = self.positions(places)
        left = [part.since(starts) for part in parts]
        known = sum(map(len, parts)) - sum(map(len, left))
        ends: dict[TopicPartition, int] = {}
        for part in left:
            for place, offset in part.ends().items():
                ends[place] = max(offset, ends.get(place, 0))
        tables = [part.table for part in left if part.table is not None and part.table.num_rows]
        if tables:
            self._write(tables, keys, ends)
        elif ends and self._load():
            self._commit_offsets(ends)
        return known

    def _write(self, tables: Sequence[Any], keys: Sequence[str], ends: Mapping[TopicPartition, int]) -> None:
        self._load()
        rows = pa.concat_tables([self._refitted(table) for table in tables], promote_options="default")
        if keys:
            names = [self._schema.field(position_of(self._schema, name)).name for name in keys]
            self._merge(last_of_each_key(rows, names), names, ends)
            return
        write_deltalake(
            self._loaded(), rows, mode="append", commit_properties=self._properties(ends),
            writer_properties=self._writer_properties(),
        )  # fmt: skip

    def _merge(self, rows: Any, keys: Sequence[str], ends: Mapping[TopicPartition, int]) -> None:
        names = [name for name in rows.schema.names if name != DELETED]
        deletes = DELETED in rows.schema.names
        if deletes:
            rows = rows.set_column(
                rows.schema.names.index(DELETED), DELETED, rows.column(DELETED).fill_null(False)
            )  # fmt: skip
        values = {_quoted(name): f"{_SOURCE}.{_quoted(name)}" for name in names}
        merger = self._loaded().merge(
            rows,
            " AND ".join(f"{_TARGET}.{_quoted(name)} = {_SOURCE}.{_quoted(name)}" for name in keys),
            source_alias=_SOURCE,
            target_alias=_TARGET,
            commit_properties=self._properties(ends),
            writer_properties=self._writer_properties(),
        )
        kept = f"NOT {_SOURCE}.{DELETED}" if deletes else None
        if deletes:
            merger = merger.when_matched_delete(f"{_SOURCE}.{DELETED}")
        merger.when_matched_update(values, kept).when_not_matched_insert(values, kept).execute()

    def _refitted(self, table: Any) -> Any:
        """Return rows with the columns that the table has by now."""
        deleted = table.column(DELETED) if DELETED in table.schema.names else None
        rows = table if deleted is None else table.drop_columns([DELETED])
        found = rows if rows.schema.equals(self._schema) else fitted(rows, self._schema)
        return found if deleted is None else found.append_column(DELETED, deleted)

    def _commit_offsets(self, ends: Mapping[TopicPartition, int]) -> None:
        table = self._loaded()
        table.create_write_transaction(
            [], mode="append", schema=table.schema(), commit_properties=self._properties(ends)
        )
        self.forget()

    def _properties(self, ends: Mapping[TopicPartition, int]) -> CommitProperties:
        now = time.time_ns() // 1_000_000
        identifiers = [Transaction(self._identifier(place), offset - 1, now) for place, offset in sorted(ends.items())]
        return CommitProperties(app_transactions=identifiers, custom_metadata={"hearth.connector": self._connector})

    def _writer_properties(self) -> WriterProperties:
        codec = self._settings.parquet_codec.upper().replace("NONE", "UNCOMPRESSED").replace("LZ4", "LZ4_RAW")
        return WriterProperties(compression=codec)  # type: ignore[arg-type]

    def _identifier(self, place: TopicPartition) -> str:
        """Return the `appId` of a topic partition; no topic contains a slash, so no two are equal."""
        return f"{self._connector}/{place.topic}/{place.partition}"

    def _position(self, place: TopicPartition) -> int:
        version = self._loaded().transaction_version(self._identifier(place))
        return 0 if version is None else version + 1

    def _loaded(self) -> DeltaTable:
        assert self._table is not None, "a table is loaded before it is written"
        return self._table

    def _load(self) -> bool:
        """Load the table unless it is; return whether there is one."""
        if self._table is None:
            try:
                self._table = DeltaTable(self.address, storage_options=self._options)
            except TableNotFoundError:
                return False
            self._schema = pa.schema(self._table.schema().to_arrow())
        return True

    def _admit(self, schema: Any) -> None:
        """Create the table, or add columns to it, so that it has those of a schema."""
        if not self._load():
            self._create(schema)
            return
        missing = missing_fields(schema, self._schema)
        if not missing:
            return
        if not self._settings.auto_evolve:
            names = ", ".join(each.name for each in missing)
            raise ConnectError(
                f"table {self.address} lacks columns of the records: {names}",
                hint="set auto.evolve=true, add the columns, or drop the fields with ReplaceField",
            )
        _log.info("table %s: adds columns %s", self.address, ", ".join(map(str, missing)))
        self._loaded().alter.add_columns(Schema.from_arrow(pa.schema(missing)).fields)
        self.forget()
        self._load()

    def _create(self, schema: Any) -> None:
        if not self._settings.auto_create:
            raise ConnectError(f"there is no table {self.address}", hint="set auto.create=true, or create it")
        names = self._settings.partition_names
        unknown = [name for name in names if name not in schema.names]
        if unknown:
            raise ConnectError(
                f"partition.field.name={','.join(names)}: records for table {self.address} have no field "
                f"{unknown[0]!r}, but {', '.join(schema.names)}"
            )
        if len(names) == len(schema.names):
            raise ConnectError(f"table {self.address} needs a column besides those of partition.field.name")
        _log.info("table %s: creates it with columns %s", self.address, ", ".join(map(str, schema)))
        try:
            DeltaTable.create(
                self.address, Schema.from_arrow(schema), partition_by=names, storage_options=self._options,
                configuration=self._settings.table_properties,
            )  # fmt: skip
        except DeltaError as error:
            if "already exists" not in str(error):
                raise
        self.forget()
        self._load()


def words(error: Exception) -> str:
    """Return an error of deltalake in one line, without its stack and colours."""
    text = str(error).split("\n   0: ")[0]
    return " ".join("".join(part for part in text.split("\x1b[31m↳\x1b[0m")).split())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
