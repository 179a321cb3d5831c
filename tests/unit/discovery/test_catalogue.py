"""The catalogue finds plugins by every name they have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.discovery import CLASSPATH, Catalogue, Plugin, PluginType, discover
from hearth_api import NotFoundError
from tests.bundles import build

SOURCE, SINK, CONVERTER = PluginType.SOURCE, PluginType.SINK, PluginType.CONVERTER


def _plugin(class_name: str, type_: PluginType = SOURCE, version: str = "1.0", location: str = CLASSPATH) -> Plugin:
    short = class_name.rpartition(".")[2]
    return Plugin(class_name, type_, version, (short,), location, f"module.of:{short}")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """Two bundles with two versions of one library."""
    return discover([build.packed("greeting_source"), build.packed("greeting_transform")], include_host=False)


@pytest.mark.parametrize(
    "name",
    [
        "org.example.greeting.GreetingSourceConnector",
        "GreetingSourceConnector",
        "GreetingSource",
        "greeting_source.connector:GreetingSourceConnector",
        "greeting_source.connector.GreetingSourceConnector",
    ],
)
def test_plugin_is_found_by_class_alias_and_python_path(catalogue: Catalogue, name: str) -> None:
    """All names of a plugin lead to it."""
    found = catalogue.find(name)
    assert found.class_name == "org.example.greeting.GreetingSourceConnector"
    assert found.location == str(build.packed("greeting_source"))
    assert found.bundle is not None
    assert found.version == "1.1"


def test_unknown_name_is_answered_with_the_nearest(catalogue: Catalogue) -> None:
    """The hint of the error names what the user may have meant."""
    with pytest.raises(NotFoundError, match="no source or sink is called 'GreetingSuorce'") as raised:
        catalogue.find("GreetingSuorce", SOURCE, SINK)
    assert raised.value.code == "plugin.not_found"
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("nearest names: GreetingSource")


def test_nearest_ignores_case_and_packages(catalogue: Catalogue) -> None:
    """A name in another case, or with another package, leads to the right one."""
    assert catalogue.nearest("greetingsource")[0] == "GreetingSource"
    assert catalogue.nearest("com.example.greeting.GreetingSourceConnector")[0].endswith("GreetingSourceConnector")
    assert catalogue.nearest("zzzzzzzz") == []


def test_names_are_case_sensitive(catalogue: Catalogue) -> None:
    """As in Kafka, another case is another name."""
    with pytest.raises(NotFoundError):
        catalogue.find("greetingsource")


def test_plugin_of_another_type_is_not_found(catalogue: Catalogue) -> None:
    """A name counts only for the types that were asked for."""
    assert catalogue.find("Greet", PluginType.TRANSFORMATION).version == "1.2"
    with pytest.raises(NotFoundError):
        catalogue.find("Greet", SOURCE)


def test_latest_version_is_found() -> None:
    """Of several versions of a class, a lookup returns the latest by Maven's order; all are listed."""
    found = Catalogue([_plugin("a.B", version=each, location=each) for each in ("1.9", "1.10", "1.10-rc1")])
    assert found.find("a.B").version == "1.10"
    assert found.versions("a.B") == ["1.9", "1.10-rc1", "1.10"]


def test_bundle_precedes_the_class_path_at_equal_versions() -> None:
    """What a user drops into plugin.path wins over what came with the host, unless it is older."""
    bundle = discover([build.packed("greeting_source")], include_host=False).plugins[0]
    installed = Plugin(bundle.class_name, SOURCE, bundle.version, (), CLASSPATH, bundle.reference)
    assert Catalogue([bundle, installed]).find(bundle.class_name) is bundle
    newer = Plugin(bundle.class_name, SOURCE, "9", (), CLASSPATH, bundle.reference)
    assert Catalogue([bundle, newer]).find(bundle.class_name) is newer


def test_class_of_two_types_is_found_as_either() -> None:
    """A converter that is a header converter as well is one class with two entries."""
    both = Catalogue([_plugin("a.B", CONVERTER), _plugin("a.B", PluginType.HEADER_CONVERTER)])
    assert both.find("B", CONVERTER).type == "converter"
    assert both.find("B", PluginType.HEADER_CONVERTER).type == "header_converter"


def test_bundles_that_share_a_class_name_are_both_listed() -> None:
    """Two bundles may declare one class; both are listed, and the last location is the one that is used."""
    locations = [build.wheel("clash_one"), build.wheel("clash_two")]
    found = discover(locations, include_host=False)
    clash = [plugin for plugin in found.plugins if plugin.class_name == "org.example.Clash"]
    assert [plugin.location for plugin in clash] == sorted(map(str, locations))
    assert found.find("Clash").location == max(map(str, locations))


def test_alias_that_two_bundles_share_is_dropped() -> None:
    """Two classes of one simple name can be called by their full names only."""
    found = discover([build.wheel("clash_one"), build.wheel("clash_two")], include_host=False)
    with pytest.raises(NotFoundError):
        found.find("Shout")
    assert found.find("org.example.one.Shout").aliases == ()


def test_faults_of_a_bundle_are_listed_among_the_rejected() -> None:
    """A bundle of which one entry point is bad is listed, and the bad one is named."""
    found = discover([build.wheel("bad_entry_points")], include_host=False)
    assert len(found.plugins) == 1
    assert "'org.example.BadConverter'" in found.rejected[0].reason


def test_listing_imports_no_bundle(tmp_path: Path) -> None:
    """Invariant 6: a bundle that leaves a file behind on import leaves none when it is listed, in any form."""
    marker = tmp_path / "imported"
    build.plain_wheel(
        tmp_path,
        "plain-marker",
        groups={"hearth.sink_connectors": {"a.Marker": "plain_marker:Marker"}},
        code=f"open({str(marker)!r}, 'w')",
    )
    program = (
        "import sys; from pathlib import Path; from hearth.discovery import discover\n"
        "found = discover([Path(each) for each in sys.argv[1:]])\n"
        "print(sum(each.location != 'classpath' for each in found.plugins),"
        " [each for each in sys.modules if each in ('marks_on_import', 'plain_marker', 'pyarrow', 'pyspark')])"
    )
    locations = [build.packed("marks_on_import"), build.wheel("marks_on_import"), tmp_path]
    environment = {**os.environ, "HEARTH_TEST_MARKER": str(marker), "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", program, *map(str, locations)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "3 []"
    assert not marker.exists()
