"""Checks at validation whether the store answers, and whether its tables are as the keys say."""

from __future__ import annotations

from collections.abc import Sequence

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from hearth_delta.delta_setting import LOCATION, DeltaSinkConfig
from hearth_delta.lake_table import STORE_ERRORS, words

_IMPATIENT = {"timeout": "5s", "connect_timeout": "3s", "max_retries": "1", "retry_timeout": "5s"}


def table_faults(settings: DeltaSinkConfig, topics: Sequence[str]) -> dict[str, str]:
    """Return what is wrong with the tables of topics, by key; without topics, look only for the store."""
    faults: dict[str, str] = {}
    for topic in topics or ["hearth"]:
        address = settings.address(topic)
        try:
            table = DeltaTable(address, storage_options={**settings.storage_options(), **_IMPATIENT})
        except TableNotFoundError:
            if topics and not settings.auto_create:
                faults["auto.create"] = f"is false, and there is no table {address}: create it, or set true"
            continue
        except STORE_ERRORS as error:
            return {LOCATION: f"cannot read {address}: {words(error)}"}
        have, wanted = table.metadata().partition_columns, settings.partition_names
        if wanted and have != wanted:
            by = f"by {', '.join(have)}" if have else "by no column"
            faults["partition.field.name"] = f"table {address} is partitioned {by}: a table keeps its partitions"
    return faults
