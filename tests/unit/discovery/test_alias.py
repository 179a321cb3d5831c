"""Aliases follow Kafka's rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.discovery import alias
from hearth.discovery.declaration import Declaration, PluginType

KAFKA = "org.apache.kafka.connect"


def _plugin(class_name: str, type_: PluginType = PluginType.SOURCE, version: str = "1.0") -> Declaration:
    return Declaration(class_name, type_, version, "module:Class")


@pytest.mark.parametrize(
    ("class_name", "type_", "expected"),
    [
        (
            f"{KAFKA}.file.FileStreamSinkConnector",
            PluginType.SINK,
            ("FileStreamSinkConnector", "FileStreamSink"),
        ),
        (f"{KAFKA}.json.JsonConverter", PluginType.CONVERTER, ("JsonConverter", "Json")),
        (
            f"{KAFKA}.storage.SimpleHeaderConverter",
            PluginType.HEADER_CONVERTER,
            ("SimpleHeaderConverter", "Simple"),
        ),
        (f"{KAFKA}.storage.StringConverter", PluginType.HEADER_CONVERTER, ("StringConverter",)),
        (f"{KAFKA}.transforms.RegexRouter", PluginType.TRANSFORMATION, ("RegexRouter",)),
        (f"{KAFKA}.transforms.Cast$Value", PluginType.TRANSFORMATION, ("Value",)),
        ("x.FileConfigProvider", PluginType.CONFIG_PROVIDER, ("FileConfigProvider", "File")),
        ("x.AllConnectorClientConfigOverridePolicy", PluginType.OVERRIDE_POLICY, ("All",)),
        ("Connector", PluginType.SOURCE, ("Connector",)),
        ("x.ConnectorOfConnectorsConnector", PluginType.SOURCE, ("ConnectorOfConnectors",)),
        ("x.MyConnectorV2", PluginType.SOURCE, ("MyConnectorV2", "My")),
        ("package.module:MySource", PluginType.SOURCE, ("MySource",)),
    ],
)
def test_plugin_has_its_simple_and_its_pruned_name(
    class_name: str, type_: PluginType, expected: tuple[str, ...]
) -> None:
    """The pruned name ends before the last occurrence of the type's word, unless nothing is left."""
    found = alias.candidates(_plugin(class_name, type_))
    assert found[0] == alias.simple_name(class_name)
    assert found[-len(expected) :] == expected


def test_alias_of_two_classes_is_dropped() -> None:
    """Nested classes all have the simple name ``Value``; none of them may be called by it."""
    values = [
        _plugin("t.Cast$Value", PluginType.TRANSFORMATION),
        _plugin("t.Hoist$Value", PluginType.TRANSFORMATION),
    ]
    assert alias.resolve(values) == {}


def test_alias_is_ambiguous_across_types() -> None:
    """There is one map for all types, so a sink and a transformation may not share an alias either."""
    found = alias.resolve([_plugin("a.FooConnector", PluginType.SINK), _plugin("b.Foo", PluginType.TRANSFORMATION)])
    assert found == {"FooConnector": "a.FooConnector"}


def test_versions_and_types_of_one_class_share_their_aliases() -> None:
    """Two versions of a class, or one class of two types, do not make an alias ambiguous."""
    found = alias.resolve(
        [
            _plugin("a.JsonConverter", PluginType.CONVERTER, "1"),
            _plugin("a.JsonConverter", PluginType.CONVERTER, "2"),
            _plugin("a.JsonConverter", PluginType.HEADER_CONVERTER, "1"),
        ]
    )
    assert found == {"JsonConverter": "a.JsonConverter", "Json": "a.JsonConverter"}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["X", "XConnector", "Y", "Y$X"])), max_size=8))
def test_every_alias_belongs_to_exactly_one_class(names: list[tuple[str, str]]) -> None:
    """An alias is kept exactly if one class has it."""
    declarations = [_plugin(f"{package}.{name}") for package, name in names]
    wants: dict[str, set[str]] = {}
    for each in declarations:
        for name in alias.candidates(each):
            wants.setdefault(name, set()).add(each.class_name)
    kept = alias.resolve(declarations)
    assert kept == {name: min(classes) for name, classes in wants.items() if len(classes) == 1}
