"""The README documents every key."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parents[4] / "plugins" / "registry" / "README.md").read_text(encoding="utf-8")


def test_keys_of_the_readme_exist() -> None:
    """What is in the first column of a table is a key, or the end of one."""
    from hearth_registry.avro_setting import AvroSettings
    from hearth_registry.json_schema_setting import JsonSchemaSettings
    from hearth_registry.protobuf_setting import ProtobufSettings

    settings = (AvroSettings, JsonSchemaSettings, ProtobufSettings)
    known = {name for each in settings for name in each.definition().names}
    documented = [
        key for row in re.findall(r"^\| (`[^|]+`) \|", README, re.MULTILINE) for key in re.findall(r"`([^`]+)`", row)
    ]
    unknown = {key for key in documented if key not in known and not re.search(r"[*…]|NAME|ssl", key)}
    assert unknown == set()
    assert len(documented) > 30
