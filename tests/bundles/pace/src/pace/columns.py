"""The source of texts in the form for batches."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import STRING_SCHEMA, TimestampType
from hearth_api.batch import Batch, BatchSourceTask
from pace import TEXT, PaceSourceTask

AT_ONCE = 10_000


class PaceColumnsTask(PaceSourceTask, BatchSourceTask):
    def poll_batch(self) -> list[Batch] | None:
        count = min(self._left, AT_ONCE)
        self._left -= count
        if not count:
            self._rest()
            return None
        digits = pc.cast(pa.array(range(self._number, self._number + count)), pa.string())
        self._number += count
        columns = {
            "value": pc.binary_join_element_wise(TEXT, pc.utf8_lpad(digits, 7, "0"), ""),
            "source_offset": pc.binary_join_element_wise('{"position":', digits, "}", ""),
        }
        if self._partition is not None:
            columns["partition"] = pa.repeat(pa.scalar(self._partition, pa.int32()), count)
        data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return [Batch(self._topic, None, STRING_SCHEMA, data, {"source": "pace"}, TimestampType.CREATE_TIME)]
