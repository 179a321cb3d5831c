"""Java's declarations of client keys: types and defaults, as a validation shows them.

`client_definition.json` has a row for each key: its name, the clients that have it, its type, its importance and its
default, as text. A row without a default is a required key. A test compares it with the classes of kafka-clients.
"""

from __future__ import annotations

import json
from collections.abc import Container
from pathlib import Path

from hearth_api import NO_DEFAULT, ConfigDef, ConfigType, Importance

_ROWS = Path(__file__).with_suffix(".json")


def client_definition(role: str, names: Container[str] | None = None) -> ConfigDef:
    """Return the keys of a client, or those among ``names``.

    The file is read each time: few connectors have client settings, and nothing else needs it.
    """
    definition = ConfigDef()
    for name, clients, kind, importance, *default in json.loads(_ROWS.read_text(encoding="utf-8")):
        if role in clients.split() and (names is None or name in names):
            definition.define(
                name,
                ConfigType(kind),
                default[0] if default else NO_DEFAULT,
                importance=Importance(importance),
                doc=f"A setting of Kafka's {role}.",
            )
    return definition
