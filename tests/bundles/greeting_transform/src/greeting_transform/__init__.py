"""A transformation that appends its version of the library ``greeting`` to a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import greeting

from hearth_api import STRING_SCHEMA, ConfigDef, Transformation


class Greet(Transformation):
    """Appends its greeting to the value."""

    def version(self) -> str:
        return "1.2"

    def config(self) -> ConfigDef:
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        return

    def apply(self, record: Any) -> Any:
        text = f"{record.value}, {greeting.salute('transformation')}"
        return record.new_record(value_schema=STRING_SCHEMA, value=text)

    def close(self) -> None:
        return
