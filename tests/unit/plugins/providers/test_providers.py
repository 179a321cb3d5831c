"""Kafka's config providers, with the values and the messages of the Java classes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hearth_api import ConfigError
from hearth_api.worker import ConfigProvider
from hearth_providers import DirectoryConfigProvider, EnvVarConfigProvider, FileConfigProvider


def configured(kind: type[ConfigProvider], **configs: str) -> ConfigProvider:
    """Return a provider; underscores in keys replace dots."""
    provider = kind()
    provider.configure({key.replace("_", "."): value for key, value in configs.items()})
    return provider


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """Create a directory with secrets, and another one next to it."""
    (tmp_path / "in" / "folder").mkdir(parents=True)
    (tmp_path / "in" / "a.properties").write_text("user = ü\npassword=x\\ty\n", encoding="utf-8")
    (tmp_path / "in" / "token").write_bytes("tökén\r\n".encode())
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "token").write_text("other")
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "out" / "token")
    return tmp_path / "in"


class TestFile:
    """Values from a file of properties."""

    def test_keys_are_found(self, secrets: Path) -> None:
        """In UTF-8 with Java's escapes; all keys by default."""
        path = str(secrets / "a.properties")
        provider = configured(FileConfigProvider)
        assert provider.get(path, {"password", "nope"}).data == {"password": "x\ty"}
        assert provider.get(path).data == {"user": "ü", "password": "x\ty"}
        assert provider.get("", {"a"}).data == {}

    def test_a_changed_file_is_read_again(self, secrets: Path) -> None:
        """What was found is not kept."""
        provider, path = configured(FileConfigProvider), secrets / "a.properties"
        assert provider.get(str(path), {"user"}).data == {"user": "ü"}
        path.write_text("user=v")
        assert provider.get(str(path), {"user"}).data == {"user": "v"}

    @pytest.mark.parametrize("name", ["none.properties", "folder", "broken", "bytes"])
    def test_an_unreadable_file_is_named(self, secrets: Path, name: str) -> None:
        """With the path, and without what the file holds."""
        (secrets / "broken").write_text("secret\\u00=1")
        (secrets / "bytes").write_bytes(b"\xff")
        with pytest.raises(ConfigError) as caught:
            configured(FileConfigProvider).get(str(secrets / name), {"a"})
        assert str(caught.value) == f"Could not read properties from file {secrets / name}"


class TestDirectory:
    """Values from a directory of files."""

    def test_files_are_found(self, secrets: Path) -> None:
        """With their exact contents; links are followed, directories are ignored."""
        provider = configured(DirectoryConfigProvider)
        assert provider.get(str(secrets), {"token", "folder", "nope"}).data == {"token": "tökén\r\n"}
        assert sorted(provider.get(str(secrets)).data) == ["a.properties", "linked", "token"]
        assert provider.get(str(secrets), {"linked"}).data == {"linked": "other"}

    def test_where_there_is_no_directory_nothing_is_found(
        self, secrets: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The log says why."""
        provider = configured(DirectoryConfigProvider)
        assert provider.get(str(secrets / "token"), {"a"}).data == provider.get("", {"a"}).data == {}
        assert caplog.messages == [f"The path {secrets / 'token'} is not a directory"]

    def test_a_value_that_is_not_text_is_named(self, secrets: Path) -> None:
        """With the file and the key."""
        (secrets / "bytes").write_bytes(b"\xff")
        with pytest.raises(ConfigError, match=r"Could not read file .*/in/bytes for property bytes"):
            configured(DirectoryConfigProvider).get(str(secrets), {"bytes"})


@pytest.mark.parametrize("kind", [FileConfigProvider, DirectoryConfigProvider])
class TestAllowedPaths:
    """What both may read."""

    @pytest.mark.parametrize(
        ("path", "is_read"), [("in", True), ("out/../in", True), ("out", False), ("in/../out", False), ("in2", False)]
    )
    def test_nothing_else_is_read(
        self, secrets: Path, kind: type[ConfigProvider], path: str, is_read: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Names are compared part by part, once `..` is gone."""
        (secrets.parent / "in2").mkdir()
        for each in ("out", "in2"):
            (secrets.parent / each / "a.properties").write_text("user=other")
        provider = configured(kind, allowed_paths=f"{secrets},{secrets / 'folder'}")
        file = "/a.properties" if kind is FileConfigProvider else ""
        assert bool(provider.get(f"{secrets.parent}/{path}{file}").data) is is_read
        assert bool(caplog.messages) is not is_read

    @pytest.mark.parametrize(
        ("given", "says"),
        [("in", "Path in is not absolute"), ("/nope/at/all", "does not exist"), ("/, /tmp", "Path  /tmp is")],
    )
    def test_a_path_that_cannot_be_is_refused(self, kind: type[ConfigProvider], given: str, says: str) -> None:
        """When the worker starts."""
        with pytest.raises(ConfigError, match=says):
            configured(kind, allowed_paths=given)


class TestEnvironment:
    """Values from the environment."""

    def test_variables_are_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As they were when the provider was configured, and those whose whole name is allowed."""
        monkeypatch.setenv("HEARTH_A", "1")
        monkeypatch.setenv("XHEARTH_A", "2")
        provider = configured(EnvVarConfigProvider, allowlist_pattern="HEARTH_.*")
        monkeypatch.setenv("HEARTH_A", "3")
        assert provider.get("", {"HEARTH_A", "XHEARTH_A", "NOPE"}).data == {"HEARTH_A": "1"}
        assert set(configured(EnvVarConfigProvider).get("").data) == set(os.environ)

    def test_a_path_has_no_meaning(self) -> None:
        """In Kafka's words."""
        with pytest.raises(ConfigError, match="Path is not supported for EnvVarConfigProvider, invalid value 'p'"):
            configured(EnvVarConfigProvider).get("p", {"A"})


def test_providers_define_their_keys() -> None:
    """Their keys are described like those of any plugin."""
    names = [kind().config().names for kind in (FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider)]
    assert names == [["allowed.paths"], ["allowed.paths"], ["allowlist.pattern"]]
