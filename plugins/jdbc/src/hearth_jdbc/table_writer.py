"""Writes the records of a topic to a table: creates and extends it, then runs one statement per batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hearth_api import ConnectError, DataError, Schema, Type
from hearth_api.batch import Batch, values_to_column
from hearth_jdbc.dialect.interface import TableId
from hearth_jdbc.dialect.sink_dialect import NewColumn, SinkDialect, Upload
from hearth_jdbc.sink_setting import INSERT, RECORD_KEY, UPDATE, UPSERT, JdbcSinkConfig
from hearth_jdbc.target_field import RowSource, TargetField, TargetFields, target_fields

_log = logging.getLogger(__name__)


class TableWriter:
    """Writes to one table, whose column names it remembers."""

    def __init__(self, dialect: SinkDialect, settings: JdbcSinkConfig, table: TableId) -> None:
        """Store where to write."""
        self._dialect = dialect
        self._settings = settings
        self._source = RowSource(settings)
        self._names: dict[str, str] | None = None
        self._targets: dict[tuple[Schema | None, Schema | None], TargetFields] = {}
        self._known: set[tuple[Schema | None, Schema | None]] = set()
        self.table = table

    def prepare(self, connection: Any, batch: Batch) -> None:
        """Create the table or add columns where that is configured; raise a ConnectError where it is not."""
        pair = (batch.key_schema, self._value_schema(batch))
        if pair in self._known:
            return
        target = self._target(batch)
        if self._names is None:
            self._describe(connection)
        if not self._names and not self._is_deletion(batch):
            self._create(connection, target)
        missing = [field for field in target.fields if self._name(field) is None]
        if missing and self._names:
            self._extend(connection, missing)
        self._known.add(pair)

    def forget(self) -> None:
        """Look at the table again, since it may have changed."""
        self._names = None
        self._known.clear()

    def write(self, connection: Any, batch: Batch) -> None:
        """Write the rows of a batch, in order."""
        limit = self._settings.limit
        for part, is_deletion in self._runs(batch):
            target = self._target(part)
            for start in range(0, part.num_rows, limit or part.num_rows):
                rows = part.slice(start, limit)
                if not is_deletion:
                    self._statement(connection, self._upload(rows, target, target.fields))
                elif self._names:
                    keys = [field for field in target.fields if field.name in target.keys]
                    self._dialect.delete(connection, self._upload(rows, target, keys))

    def _runs(self, batch: Batch) -> Iterator[tuple[Batch, bool]]:
        """Yield consecutive rows with a value, and consecutive ones without."""
        if self._is_deletion(batch):
            yield batch, True
            return
        value = batch.column("value")
        if not value.null_count:
            yield batch, False
            return
        absent = value.is_null().to_numpy(zero_copy_only=False)
        edges = [0, *(np.flatnonzero(absent[1:] != absent[:-1]) + 1).tolist(), len(absent)]
        for start, end in zip(edges, edges[1:]):
            yield batch.slice(start, end - start), bool(absent[start])

    def _is_deletion(self, batch: Batch) -> bool:
        value = batch.column("value")
        return value is None or value.null_count == batch.num_rows

    def _value_schema(self, batch: Batch) -> Schema | None:
        return None if self._is_deletion(batch) else batch.value_schema

    def _target(self, batch: Batch) -> TargetFields:
        """Return the columns for the records of a batch; records that cannot be rows raise a DataError."""
        pair = (batch.key_schema, self._value_schema(batch))
        found = self._targets.get(pair)
        if found is None:
            self._check(batch)
            found = self._targets[pair] = target_fields(self._settings, str(self.table), *pair)
        if batch.column("value") is not None and batch.column("value").null_count:
            self._check_deletions(batch)
        return found

    def _check(self, batch: Batch) -> None:
        schema = self._value_schema(batch)
        if self._is_deletion(batch):
            self._check_deletions(batch)
        elif schema is None:
            raise DataError(
                f"records of topic {batch.topic} have no schema, which the columns of a table need",
                hint="use a converter with schemas, such as JsonConverter with schemas.enable=true",
            )
        elif schema.type not in (Type.STRUCT, Type.STRING):
            raise DataError(f"a record of topic {batch.topic} is {schema.type}, not a struct with a field per column")

    def _check_deletions(self, batch: Batch) -> None:
        settings = self._settings
        if not settings.delete_enabled or settings.keys_from != RECORD_KEY:
            raise DataError(
                f"a record of topic {batch.topic} has no value",
                hint="delete.enabled=true with pk.mode=record_key deletes the row of its key",
            )

    def _statement(self, connection: Any, upload: Upload) -> None:
        mode = self._settings.mode
        if mode != INSERT and not upload.keys:
            raise ConnectError(f"insert.mode={mode} needs a primary key: set pk.mode", code="config.invalid")
        run = {INSERT: self._dialect.insert, UPSERT: self._dialect.upsert, UPDATE: self._dialect.update}[mode]
        run(connection, upload)

    def _upload(self, batch: Batch, target: TargetFields, fields: Sequence[TargetField]) -> Upload:
        names = {field.name: self._name(field) or field.name for field in fields}
        return Upload(
            self.table,
            [names[field.name] for field in fields],
            [self._source.schema_of(field) for field in fields],
            [self._source.array(field, batch) for field in fields],
            [names[name] for name in target.keys],
        )

    def _name(self, field: TargetField) -> str | None:
        """Return the name of the table's column for a field, None if it has none; letters may be large or small."""
        names = self._names or {}
        return names.get(field.name) or names.get(field.name.lower())

    def _describe(self, connection: Any) -> None:
        exact = {column.name: column.name for column in self._dialect.describe(connection, self.table)}
        self._names = {**{name.lower(): name for name in reversed(exact)}, **exact}

    def _create(self, connection: Any, target: TargetFields) -> None:
        if not self._settings.auto_create:
            raise ConnectError(f"there is no table {str(self.table)!r}", hint="create it, or set auto.create=true")
        columns = [self._new(field, is_key=field.name in target.keys) for field in target.fields]
        self._change(connection, [self._dialect.create_sql(self.table, columns, target.keys)], target.fields)

    def _extend(self, connection: Any, missing: Sequence[TargetField]) -> None:
        names = ", ".join(repr(field.name) for field in missing)
        if not self._settings.auto_evolve:
            raise ConnectError(
                f"table {str(self.table)!r} has no columns {names}", hint="add them, or set auto.evolve=true"
            )
        for field in missing:
            if not field.schema.optional and field.schema.default is None:
                raise ConnectError(
                    f"column {field.name!r} cannot be added to table {str(self.table)!r}: the field is required"
                    " and has no default for the rows that are there"
                )
        sql = self._dialect.add_columns_sql(self.table, [self._new(field) for field in missing])
        self._change(connection, sql, missing)

    def _change(self, connection: Any, statements: Sequence[str], wanted: Sequence[TargetField]) -> None:
        """Change the table; another task may do the same at the same time, and then its change counts."""
        try:
            with self._dialect.transaction(connection):
                for sql in statements:
                    _log.info("table %s: %s", self.table, sql)
                    self._dialect.execute(connection, sql)
        except self._dialect.Error:
            self._describe(connection)
            if not self._names or any(self._name(field) is None for field in wanted):
                raise
        self._describe(connection)

    def _new(self, field: TargetField, *, is_key: bool = False) -> NewColumn:
        schema = self._source.schema_of(field)
        kind = self._dialect.key_type(schema) if is_key else self._dialect.column_type(schema)
        return NewColumn(field.name, kind, field.schema.optional, self._default(field))

    def _default(self, field: TargetField) -> str | None:
        if field.schema.default is None or field.schema.type is Type.ARRAY:
            return None
        given = values_to_column(field.schema, [field.schema.default])
        converted = self._source.converted(field, given)
        return self._dialect.literal(self._source.schema_of(field), converted[0].as_py())
