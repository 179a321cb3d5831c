"""A transformation that adds to a text which version of the library ``greeting`` it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import greeting

from hearth_api import STRING_SCHEMA, ConfigDef, Transformation


class Greet(Transformation):
    """Appends a greeting of its own to the value."""

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
