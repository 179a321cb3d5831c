"""Variables in configurations work as in Kafka's `ConfigTransformer`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from hearth.config.variable import Resolved, Variables, asked_once
from hearth_api import ConfigError
from hearth_api.worker import ConfigData, ConfigProvider


class RecordingProvider(ConfigProvider):
    """Returns configured values, and records its calls."""

    def __init__(self, values: Mapping[tuple[str, str], str], ttl: int | None = None) -> None:
        self.values = dict(values)
        self.ttl = ttl
        self.asked: list[tuple[str, list[str]]] = []
        self.is_closed = False

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Do nothing."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the known values."""
        self.asked.append((path, sorted(keys or ())))
        if path == "broken":
            raise ConfigError("cannot be read")
        return ConfigData({key: value for (at, key), value in self.values.items() if at == path}, self.ttl)

    def close(self) -> None:
        """Record it."""
        self.is_closed = True


ENV = RecordingProvider({("", "A"): "va", ("", "EMPTY"): "", ("", "LOOP"): "${env:A}"})
FILE = RecordingProvider({("/s", "user"): "u", ("/s", "password"): "geheim", ("/s", "a:b"): "colon"}, ttl=5000)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("x${env:A}y${env:B}", "xvay${env:B}"),
        ("${nobody:/s:user}", "${nobody:/s:user}"),
        ("$${env:A}", "$va"),
        ("${env:A", "${env:A"),
        ("${env:LOOP}", "${env:A}"),
        ("[${env:EMPTY}]", "[]"),
        ("${file:/s:user}:${file:/s:password}", "u:geheim"),
        ("${file:/s:a:b}", "colon"),
        ("${a${env:A}}", "${a${env:A}}"),
        ("${topic}", "${topic}"),
        ("", ""),
        (None, None),
    ],
)
def test_variables_are_replaced_by_values(text: str | None, becomes: str | None) -> None:
    """Without escapes or recursion; unknown variables stay."""
    assert Variables({"env": ENV, "file": FILE}).resolve({"k": text}).config == {"k": becomes}


def test_a_path_is_looked_up_once() -> None:
    """With all its keys, and only if needed."""
    env, file = RecordingProvider({}), RecordingProvider({})
    variables = Variables({"env": env, "file": file})
    config = {"a": "${file:/s:x}", "b": "${file:/s:y}${file:/s:x}", "c": "${file:/t:x}", "d": "plain"}
    assert variables.resolve(config).config == config
    assert (sorted(file.asked), env.asked) == ([("/s", ["x", "y"]), ("/t", ["x"])], [])
    variables.close()
    assert file.is_closed


def test_a_key_is_looked_up_once_within_a_block() -> None:
    """More keys of a path are looked up alone, and all expire with the shortest time to live."""
    file = RecordingProvider({("/s", "x"): "1", ("/s", "y"): "2"}, ttl=5000)
    variables = Variables({"file": file})
    with asked_once():
        assert variables.resolve({"a": "${file:/s:x}"}).config == {"a": "1"}
        file.ttl = None
        found = variables.resolve({"a": "${file:/s:x}", "b": "${file:/s:y}", "c": "${file:/s:z}"})
        assert (found.config, found.ttl) == ({"a": "1", "b": "2", "c": "${file:/s:z}"}, 5)
        assert variables.resolve({"c": "${file:/s:z}"}).ttl == 5
    assert file.asked == [("/s", ["x"]), ("/s", ["y", "z"])]
    variables.resolve({"a": "${file:/s:x}"})
    assert file.asked[2:] == [("/s", ["x"])]


def test_an_error_of_a_provider_is_raised() -> None:
    """The configuration cannot be used without the value."""
    with pytest.raises(ConfigError, match="cannot be read"):
        Variables({"file": FILE}).resolve({"a": "${file:broken:x}"})


def test_the_time_to_live_is_the_shortest_of_all_values() -> None:
    """None if no provider sets one."""
    variables = Variables({"env": ENV, "file": FILE, "short": RecordingProvider({}, ttl=20)})
    assert variables.resolve({"a": "${env:A}"}).ttl is None
    assert variables.resolve({"a": "${file:/s:user}", "b": "${short:x}"}).ttl == 0.02


def resolved() -> Resolved:
    """Return a configuration with secrets."""
    config = {"url": "db://${file:/s:user}@h", "password": " ${file:/s:password} ", "size": "${env:A}", "plain": "u"}
    return Variables({"env": ENV, "file": FILE}).resolve(config)


def test_values_in_messages_are_replaced_by_their_variables() -> None:
    """In any message, except short values that occur by chance."""
    settings = resolved()
    text = "bad db://u@h, 'geheim', va and u"
    assert settings.hidden(text) == "bad db://${file:/s:user}@h, ' ${file:/s:password} ', va and u"
    assert settings.hidden("bad va", "size") == "bad ${env:A}"
    assert [settings.is_hidden(name) for name in settings.raw] == [True, True, True, False]
    assert "geheim" not in repr(settings)


def test_variables_are_restored_in_task_configurations() -> None:
    """By the names of keys, as in Kafka Connect: stored and shown configurations contain no secrets."""
    settings = resolved()
    tasks = settings.restored([{**settings.config, "task": "1"}, {"size": "3"}])
    assert tasks == [{**settings.raw, "task": "1"}, {"size": "${env:A}"}]


def test_a_variable_without_a_value_is_reported() -> None:
    """The provider is unknown, or does not know the key."""
    variables = Variables({"env": ENV})
    settings = variables.resolve({"a": "${fiel:/s:user}", "b": "${env:B} ${env:A}", "c": "x"})
    assert variables.left(settings) == [
        ("a", "${fiel:/s:user} is not resolved: no config provider is named 'fiel', there is 'env'"),
        ("b", "${env:B} is not resolved: config provider 'env' has no value for it"),
    ]
    assert Variables().left(Variables().resolve({"a": "${x:y}"}))[0][1].endswith("there is none")
