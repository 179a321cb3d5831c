"""Resolving names to plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.discovery import Bundle, BundleError, PluginScanner, PluginType
from hearth.herder.plugin.directory import PluginDirectory, PluginGone, PluginNotFound, VersionNotFound
from hearth.isolation.environment_store import EnvironmentStore
from hearth_api import NotFoundError
from tests.bundles import build
from tests.unit.herder.catalogue import SOURCE, directory, plugin

OLD = plugin(SOURCE, PluginType.SOURCE, "Source", "4.0.0")


def test_the_newest_version_is_selected(tmp_path: Path) -> None:
    """Unless a range says otherwise (KIP-891)."""
    known = directory(tmp_path, OLD)
    assert known.versions(SOURCE, PluginType.SOURCE) == ["4.0.0", "4.3.1"]
    assert known.connector({"connector.class": "FileStreamSource"}).version == "4.3.1"
    chosen = known.connector({"connector.class": "FileStreamSource", "connector.plugin.version": "[4.0,4.1)"})
    assert chosen.version == "4.0.0"


def test_an_empty_range_lists_the_available_versions(tmp_path: Path) -> None:
    """Kafka's message."""
    with pytest.raises(VersionNotFound) as caught:
        directory(tmp_path, OLD).connector({"connector.class": "FileStreamSource", "connector.plugin.version": "5"})
    assert str(caught.value) == (
        f"Plugin {SOURCE} not found that matches the version range [5,5], available versions: [4.0.0, 4.3.1]"
    )


def test_a_plugin_of_another_type_is_no_connector(tmp_path: Path) -> None:
    """A converter's alias does not name a connector."""
    with pytest.raises(PluginNotFound, match="Failed to find any class that implements Connector"):
        directory(tmp_path).connector({"connector.class": "JsonConverter"})


def test_a_name_without_likeness_gets_no_suggestion(tmp_path: Path) -> None:
    """Kafka's message is unchanged."""
    with pytest.raises(PluginNotFound) as caught:
        directory(tmp_path).connector({"connector.class": "zzz"})
    assert "Nearest" not in str(caught.value)


def test_a_configuration_shows_the_type_of_its_connector(tmp_path: Path) -> None:
    """`unknown` if the connector no longer exists."""
    known = directory(tmp_path)
    assert known.connector_type({"connector.class": "FileStreamSink"}) == "sink"
    assert known.connector_type({"connector.class": "Gone"}) == "unknown"
    assert known.connector_type(None) == "unknown"


def test_names_of_every_type_have_one_class(tmp_path: Path) -> None:
    """An alias means one class, whatever its type."""
    known = directory(tmp_path)
    assert known.canonical("RegexRouter") == "org.apache.kafka.connect.transforms.RegexRouter"
    with pytest.raises(NotFoundError):
        known.canonical("Value")
    assert known.is_type("org.apache.kafka.connect.json.JsonConverter", PluginType.HEADER_CONVERTER)
    assert not known.is_type(SOURCE, PluginType.SINK)


class Bundles:
    """A directory with bundles of one connector, scanned by a host."""

    def __init__(self, folder: Path, **versions: str) -> None:
        self.folder = folder / "bundles"
        self.folder.mkdir()
        for file, version in versions.items():
            self.put(file, version)
        scanner = PluginScanner([self.folder], include_host=False)
        self.directory = PluginDirectory(scanner.look, EnvironmentStore(folder / "environments"))
        self.changed: list[frozenset[str]] = []
        self.directory.subscribe(self.changed.append)
        self.directory.look()

    def put(self, file: str, version: str, class_name: str = "a.DemoConnector") -> None:
        """Write a version to a file."""
        scratch = self.folder.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        wheel = build.plain_wheel(scratch, "demo", version, {"hearth.source_connectors": {class_name: "demo:Demo"}})
        wheel.replace(self.path(file))

    def path(self, file: str) -> Path:
        """Return the path of a file."""
        return self.folder / f"{file}.whl"

    def version(self, wanted: str | None = None) -> str:
        """Return the version that a configuration selects."""
        config = {"connector.class": "Demo", "connector.plugin.version": wanted}
        return self.directory.connector(config).version


def test_a_bundle_that_is_replaced_is_read_again(tmp_path: Path) -> None:
    """Whichever of several it is, and also if its new version is the requested one."""
    bundles = Bundles(tmp_path, one="1.0", two="1.1")
    assert bundles.version() == "1.1"
    bundles.put("one", "1.2")
    assert bundles.version() == "1.2"
    assert bundles.directory.versions("Demo", PluginType.SOURCE) == ["1.1", "1.2"]
    bundles.put("two", "1.3")
    assert bundles.version("[1.3]") == "1.3"
    with pytest.raises(VersionNotFound, match=r"available versions: \[1.2, 1.3\]"):
        bundles.version("[1.1]")


def test_a_deleted_bundle_fails_only_requests_for_it(tmp_path: Path) -> None:
    """The newer version remains available; the deleted one is reported with its location until it is back."""
    bundles = Bundles(tmp_path, one="1.0", two="1.1")
    bundles.path("one").unlink()
    assert bundles.version() == "1.1"
    with pytest.raises(PluginGone, match=r"a.DemoConnector was found in .*one.whl.*: it does not exist"):
        bundles.version("[1.0]")
    bundles.put("one", "1.0")
    assert bundles.version("[1.0]") == "1.0"


def test_a_bundle_with_other_contents_is_read_on_each_request(tmp_path: Path) -> None:
    """A plugin that existed at startup is looked up at its location."""
    bundles = Bundles(tmp_path, one="1.0")
    bundles.put("one", "1.0", "a.OtherConnector")
    for _ in range(2):
        with pytest.raises(PluginGone, match="it no longer declares this plugin"):
            bundles.version()
    assert bundles.directory.connector({"connector.class": "Other"}).version == "1.0"
    bundles.put("one", "2.0")
    assert bundles.version() == "2.0"
    bundles.path("one").write_bytes(b"no wheel")
    with pytest.raises(PluginGone, match="it is truncated or not a zip file"):
        bundles.version()


def test_a_new_bundle_is_found_on_request(tmp_path: Path) -> None:
    """A new plugin, one that moved, and a newer version of a known one."""
    bundles = Bundles(tmp_path, one="1.0")
    bundles.put("new", "1.0", "a.NewConnector")
    assert bundles.directory.connector({"connector.class": "a.NewConnector"}).location == str(bundles.path("new"))
    with pytest.raises(PluginNotFound):
        bundles.directory.connector({"connector.class": "a.NoConnector"})
    bundles.path("one").unlink()
    bundles.put("moved", "1.1")
    assert bundles.version() == "1.1"
    with pytest.raises(PluginGone, match=r"a.DemoConnector was found in .*one.whl"):
        bundles.version("[1.0]")
    bundles.put("newer", "1.2")
    assert bundles.version("[1.2]") == "1.2"


def test_a_scan_reports_the_classes_whose_plugins_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """On any thread; a change is reported once, and unchanged plugins are not."""
    bundles = Bundles(tmp_path, one="1.0")
    catalogue = bundles.directory.catalogue
    bundles.directory.look()
    assert bundles.directory.catalogue is catalogue
    assert bundles.changed == []
    bundles.put("two", "1.0", "a.OtherConnector")
    with caplog.at_level("INFO"):
        bundles.directory.connector({"connector.class": "a.OtherConnector"})
        bundles.directory.look()
        bundles.path("one").unlink()
        for length in (2, 5, 8):  # it is still being copied
            bundles.path("two").write_bytes(b"no wheel"[:length])
            bundles.directory.look()
        assert "skipped" not in caplog.text
        bundles.directory.look()
        bundles.directory.look()
    assert bundles.changed == [{"a.OtherConnector"}, {"a.OtherConnector", "a.DemoConnector"}]
    messages = [record.getMessage().replace(str(bundles.folder), "") for record in caplog.records]
    assert messages == [
        "/two.whl: found demo 1.0",
        "/one.whl: demo 1.0 was removed; running plugins stay",
        "/two.whl: demo 1.0 was removed; running plugins stay",
        "/two.whl is skipped: two.whl: it is truncated or not a zip file (negative seek position) "
        "(copy or download it again)",
    ]


def test_a_bundle_that_is_no_longer_trusted_has_that_reason(tmp_path: Path) -> None:
    """The bundle is valid and has the plugin; the operator must learn why it is not used."""

    def admit(bundle: Bundle) -> None:
        if bundle.version == "1.1":
            raise BundleError("nobody here trusts who signed it")

    bundles = Bundles(tmp_path, one="1.0")
    scanner = PluginScanner([bundles.folder], include_host=False, admit=admit)
    bundles.directory = PluginDirectory(scanner.look, EnvironmentStore(tmp_path / "environments"))
    assert bundles.version() == "1.0"
    bundles.put("one", "1.1")
    with pytest.raises(PluginGone, match="nobody here trusts who signed it"):
        bundles.version()


def test_files_written_next_to_modules_do_not_change_a_package(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A log file there must not restart a connector every second; another version of the package does."""
    bundles = Bundles(tmp_path)
    site = bundles.folder / "site"
    points = {"hearth.source_connectors": {"a.DemoConnector": "demo:Demo"}}
    build.site(site, "demo", "1.0", points)
    bundles.directory.look()
    assert bundles.changed == [{"a.DemoConnector"}]
    with caplog.at_level("INFO"):
        for lines in range(3):
            (site / "demo.log").write_text("line\n" * lines)
            bundles.directory.look()
    assert (len(bundles.changed), caplog.text) == (1, "")
    (site / "demo-1.0.dist-info").rename(site / "demo-1.1.dist-info")
    build.site(site, "demo", "1.1", points)
    bundles.directory.look()
    assert len(bundles.changed) == 2
    assert bundles.version() == "1.1"


def test_building_from_a_removed_bundle_reports_its_removal(tmp_path: Path) -> None:
    """The file is removed between the scan and its use."""
    bundles = Bundles(tmp_path, one="1.0")
    plugin = bundles.directory.connector({"connector.class": "Demo"})
    bundles.path("one").unlink()
    with pytest.raises(PluginGone, match="it does not exist"):
        bundles.directory.environment(plugin)
