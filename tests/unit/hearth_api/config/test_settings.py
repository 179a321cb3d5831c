"""A settings class declares each key once, for the definition and the typed attributes."""

from __future__ import annotations

from typing import Optional

import pytest

from hearth_api import ConfigError, ConfigType, Importance, NonEmptyString, Password, Range, Settings, key


class LineSettings(Settings):
    """Settings of an imaginary source of lines."""

    topic: str = key("topic", check=NonEmptyString(), importance=Importance.HIGH, doc="Where lines go.")
    batch_size: int = key("batch.size", default=2000, check=Range.at_least(1))
    file: str | None = key("file", default=None)
    ratio: float = key("ratio", default=0.5)
    follow: bool = key("follow", default="true")
    names: list[str] = key("names", default="a,b")
    secret: Optional[Password] = key("secret", default=None)  # noqa: UP045 - the older spelling works as well
    retention: int = key("retention.ms", default=-1, type=ConfigType.LONG)


class TailSettings(LineSettings):
    """Adds a key and changes one."""

    batch_size: int = key("batch.size", default=10)
    delay: int = key("delay.ms", default=1)


def test_types_follow_from_annotations() -> None:
    """Every annotation with a configuration type suffices."""
    types = [(name, str(each.type)) for name, each in LineSettings.definition().keys.items()]
    assert types == [
        ("topic", "STRING"), ("batch.size", "INT"), ("file", "STRING"), ("ratio", "DOUBLE"),
        ("follow", "BOOLEAN"), ("names", "LIST"), ("secret", "PASSWORD"), ("retention.ms", "LONG"),
    ]  # fmt: skip


def test_attributes_are_the_parsed_values() -> None:
    """An instance is created from text and read as Python values."""
    settings = LineSettings({"topic": " t ", "batch.size": "5", "secret": "s", "unknown": "x"})
    assert (settings.topic, settings.batch_size, settings.file) == ("t", 5, None)
    assert (settings.ratio, settings.follow, settings.names) == (0.5, True, ["a", "b"])
    assert settings.secret is not None
    assert settings.secret.value == "s"


def test_wrong_settings_are_refused_in_kafkas_words() -> None:
    """The message is that of the first invalid key."""
    with pytest.raises(ConfigError, match='Missing required configuration "topic" which has no default value'):
        LineSettings({})
    with pytest.raises(ConfigError, match=r"Invalid value 0 for configuration batch\.size: Value must be at least 1"):
        LineSettings({"topic": "t", "batch.size": "0"})


def test_settings_do_not_change_and_hide_secrets() -> None:
    """Parsed values are immutable, and printing them hides secrets."""
    settings = LineSettings({"topic": "t", "secret": "hush"})
    with pytest.raises(AttributeError, match=r"setting 'batch\.size' cannot be changed"):
        settings.batch_size = 1
    assert "hush" not in repr(settings)


def test_subclass_inherits_keys_and_may_replace_them() -> None:
    """Inherited keys come first; a replaced one keeps its place."""
    assert TailSettings.definition().names == [*LineSettings.definition().names, "delay.ms"]
    assert TailSettings({"topic": "t"}).batch_size == 10
    assert LineSettings({"topic": "t"}).batch_size == 2000


def test_definition_is_made_once_per_class() -> None:
    """All instances of a class share its definition, and no subclass gets its parent's."""
    assert LineSettings.definition() is LineSettings.definition()
    assert LineSettings.definition() is not TailSettings.definition()


def test_keys_with_a_prefix_are_returned_unparsed() -> None:
    """A plugin passes them to its components."""
    settings = LineSettings({"topic": "t", "format.a": " 1", "format.b": "2"})
    assert settings.with_prefix("format.") == {"a": " 1", "b": "2"}


def test_annotation_without_a_type_is_refused() -> None:
    """The error names the key whose type is missing."""

    class Odd(Settings):
        what: complex = key("what")

    with pytest.raises(TypeError, match="key 'what' is annotated"):
        Odd.definition()
