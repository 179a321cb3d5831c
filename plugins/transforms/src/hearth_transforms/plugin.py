"""What the plugins of this package share: Kafka's version and a definition that is declared once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from hearth_api import CaseInsensitiveValidString, ConfigDef, ConnectPlugin, Importance, Settings, key
from hearth_api.batch import BatchTransformation
from hearth_transforms import VERSION

if TYPE_CHECKING:
    from hearth_transforms.plain_column import PlainColumns


def null_to_default() -> Any:
    """Return the key of all that read fields: what a null becomes whose schema has a default."""
    return key(
        "replace.null.with.default",
        default=True,
        importance=Importance.MEDIUM,
        doc="Whether the default of a field stands in for its null.",
    )


def field_syntax() -> Any:
    """Return the key of all that name fields and whose classes in Java know their names alone."""
    return key(
        "field.syntax.version",
        default="V1",
        check=CaseInsensitiveValidString("V1", "V2"),
        importance=Importance.HIGH,
        doc="How fields are named. V1: by names of fields at the top. V2: by paths whose names stand between dots, a"
        " name that has dots itself in backticks, such as `foo.bar`.baz.",
        unlisted=True,
    )


class NoConfig(Settings):
    """The settings of what has none."""


class KafkaPlugin(ConnectPlugin):
    """Stands for a class of Kafka Connect; `settings` declares the keys it understands."""

    settings: ClassVar[type[Settings]] = NoConfig

    def version(self) -> str:
        """Return the version of the Kafka Connect class this stands for."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys."""
        return self.settings.definition()


class FieldPlugin(KafkaPlugin, BatchTransformation):
    """A transformation that looks into values, of which those without schema have columns of their own."""

    @cached_property
    def _plain(self) -> PlainColumns:
        """Return what changes columns without schema, and knows how their values were laid out so far."""
        from hearth_transforms.plain_column import PlainColumns  # with Arrow, which definitions have no use for

        return PlainColumns()
