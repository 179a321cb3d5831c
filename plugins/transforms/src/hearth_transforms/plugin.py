"""Base classes of the plugins: Kafka's version and a definition from the declared settings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from hearth_api import CaseInsensitiveValidString, ConfigDef, ConnectPlugin, Importance, Settings, key
from hearth_api.batch import BatchTransformation
from hearth_transforms import VERSION

if TYPE_CHECKING:
    from hearth_transforms.plain_column import PlainColumns


def null_to_default() -> Any:
    """Return the key of plugins that read fields: whether a schema's default replaces a null."""
    return key(
        "replace.null.with.default",
        default=True,
        importance=Importance.MEDIUM,
        doc="Whether a null is replaced by the default of its field.",
    )


def field_syntax() -> Any:
    """Return the field syntax key of plugins whose Java classes support only top-level field names."""
    return key(
        "field.syntax.version",
        default="V1",
        check=CaseInsensitiveValidString("V1", "V2"),
        importance=Importance.HIGH,
        doc="The syntax of field names. V1: names of top-level fields. V2: paths of names separated by dots; a name"
        " with dots is in backticks, such as `foo.bar`.baz.",
        unlisted=True,
    )


class NoConfig(Settings):
    """The settings of plugins without settings."""


class KafkaPlugin(ConnectPlugin):
    """The counterpart of a Kafka Connect class; `settings` declares its keys."""

    settings: ClassVar[type[Settings]] = NoConfig

    def version(self) -> str:
        """Return the version of the corresponding Kafka Connect class."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys."""
        return self.settings.definition()


class FieldPlugin(KafkaPlugin, BatchTransformation):
    """A transformation of fields, which handles columns without schema separately."""

    @cached_property
    def _plain(self) -> PlainColumns:
        """Return the transformer of columns without schema, which caches their layouts."""
        from hearth_transforms.plain_column import PlainColumns  # loads Arrow, which definitions do not need

        return PlainColumns()
