"""A user's change to `hearth bundle new order-sink --type sink`: orders, read by dataclasses-json.

The bundle also has a transformation, which converts the orders to the sink's form.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, TypeVar

from dataclasses_json import LetterCase, dataclass_json

from hearth_api import (
    ConfigDef,
    ConnectRecord,
    OffsetAndMetadata,
    Settings,
    SinkConnector,
    SinkRecord,
    SinkTask,
    Task,
    TopicPartition,
    Transformation,
    key,
)

R = TypeVar("R", bound=ConnectRecord)


@dataclass_json(letter_case=LetterCase.CAMEL)
@dataclass
class Order:
    """An order, whose JSON has `orderId`."""

    order_id: int
    unit_price: float


class ReadOrder(Transformation):
    """Turns `{"orderId": ...}` into `{"order_id": ...}`, with its libraries' versions in the headers."""

    def version(self) -> str:
        return version("dataclasses-json")

    def config(self) -> ConfigDef:
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        pass

    def apply(self, record: R) -> R | None:
        headers = record.headers.duplicate()
        for package in ("dataclasses-json", "marshmallow"):
            headers.add_string(package, version(package))
        order = Order.schema().loads(record.value)
        return record.new_record(value=json.dumps(asdict(order)), headers=headers)


class OrderSinkConnectorConfig(Settings):
    """Settings."""

    file: str = key("file", doc="File to which a line of JSON is added for each order.")


class OrderSinkConnector(SinkConnector):
    """Has one task."""

    def version(self) -> str:
        return version("dataclasses-json")

    def config(self) -> ConfigDef:
        return OrderSinkConnectorConfig.definition()

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return OrderSinkConnectorTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._props]

    def stop(self) -> None:
        pass


class OrderSinkConnectorTask(SinkTask):
    """Writes orders, with the headers of their records and its libraries' versions."""

    def version(self) -> str:
        return version("dataclasses-json")

    def start(self, props: Mapping[str, str]) -> None:
        self._file = open(OrderSinkConnectorConfig(props).file, "a", encoding="utf-8")

    def put(self, records: Collection[SinkRecord]) -> None:
        for record in records:
            order = Order(**json.loads(record.value))
            headers = [[header.key, header.value] for header in record.headers]
            line = {"id": order.order_id, "headers": headers, "marshmallow": version("marshmallow")}
            self._file.write(f"{json.dumps(line)}\n")

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._file.flush()

    def stop(self) -> None:
        self._file.close()
