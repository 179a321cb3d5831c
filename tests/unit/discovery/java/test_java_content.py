"""The plugins of a bundle are what Kafka Connect's scanners would find."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.discovery.java import java_content
from hearth.discovery.java.java_archive import JavaArchive, Root
from hearth.discovery.java.java_content import JavaContent, read_content, remember, remembered
from hearth.discovery.refusal import BundleError
from hearth.discovery.tree import open_file
from tests.bundles.java import ABSTRACT, CONVERTER, PROVIDER, PUBLIC, SINK, TRANSFORMATION, jar, java_class

SERVICES = "META-INF/services/"
STRINGS = "org/apache/kafka/connect/storage/StringConverter"


def opened(path: Path) -> Root:
    """Return what opens a jar."""
    return lambda: JavaArchive(path.name, open_file(path))


def content(*jars: Path) -> JavaContent:
    """Return the content of a class path."""
    return read_content([opened(each) for each in jars])


def plugins(folder: Path, *classes: bytes, **files: bytes) -> list[tuple[str, str]]:
    """Return the plugins of a jar."""
    return list(content(jar(folder / "a.jar", *classes, **files)).plugins)


def test_hierarchy_decides_on_the_types(tmp_path: Path) -> None:
    """Through the bundle's own classes in another jar, and through those of the worker."""
    base = jar(
        tmp_path / "b.jar", java_class("org/example/Base", flags=PUBLIC | ABSTRACT, interfaces=[TRANSFORMATION])
    )
    mine = jar(
        tmp_path / "a.jar",
        java_class("org/example/Upper$Value", "org/example/Base"),
        java_class("org/example/Json", "org/apache/kafka/connect/json/JsonConverter"),
        java_class("org/example/Other"),
    )
    assert content(mine, base).plugins == (
        ("org.example.Json", "converter"),
        ("org.example.Json", "header_converter"),
        ("org.example.Upper$Value", "transformation"),
    )


def test_class_without_a_public_constructor_is_no_plugin(tmp_path: Path) -> None:
    """Java Connect logs that it cannot be created, and leaves it out."""
    hidden = java_class("org/example/A", SINK, constructor_flags=0)
    assert plugins(tmp_path, hidden, java_class("org/example/B", SINK)) == [("org.example.B", "sink")]


def test_config_provider_has_to_be_named_in_a_service_manifest(tmp_path: Path) -> None:
    """Kafka looks for it in manifests only; a comment and spaces are allowed."""
    classes = [java_class(f"org/example/{name}", interfaces=[PROVIDER]) for name in ("Named", "Unnamed")]
    manifest = {f"{SERVICES}{PROVIDER.replace('/', '.')}": b" # ours\n org.example.Named # this\n"}
    assert plugins(tmp_path, *classes, **manifest) == [("org.example.Named", "configprovider")]


def test_worker_hides_the_classes_that_all_bundles_share(tmp_path: Path) -> None:
    """A bundle's own StringConverter is used, and its own class of another package of Kafka is not."""
    assert plugins(
        tmp_path,
        java_class(STRINGS, interfaces=[CONVERTER]),
        java_class("org/apache/kafka/connect/file/FileStreamSinkConnector", SINK),
        java_class("org/apache/kafka/common/config/provider/FileConfigProvider", interfaces=[PROVIDER]),
    ) == [
        ("org.apache.kafka.common.config.provider.FileConfigProvider", "configprovider"),
        ("org.apache.kafka.connect.file.FileStreamSinkConnector", "sink"),
        ("org.apache.kafka.connect.storage.StringConverter", "converter"),
    ]


def test_hierarchy_that_contains_itself_ends(tmp_path: Path) -> None:
    """Java would refuse the classes when it loads them."""
    cycle = (
        java_class("org/example/A", "org/example/B", [TRANSFORMATION]),
        java_class("org/example/B", "org/example/A"),
    )
    assert [name for name, _ in plugins(tmp_path, *cycle)] == ["org.example.A", "org.example.B"]


def test_release_is_that_of_the_newest_class(tmp_path: Path) -> None:
    """Classes for other releases of Java and module declarations do not count."""
    newer = java_class("org/example/A", SINK, release=25)
    files = {"META-INF/versions/25/org/example/A.class": newer, "module-info.class": newer}
    found = content(jar(tmp_path / "a.jar", java_class("org/example/A", SINK, release=11), **files))
    assert found.release == 11


def test_class_in_two_versions_is_named(tmp_path: Path) -> None:
    """The first jar on the class path counts; equal classes are no clash."""
    sink = java_class("org/example/A", SINK)
    one = jar(tmp_path / "a.jar", sink, java_class("org/example/Same"))
    other = jar(tmp_path / "b.jar", java_class("org/example/A", release=21), java_class("org/example/Same"))
    found = content(one, other)
    assert found.notes == ("org.example.A is in a.jar and b.jar with different content; Java uses the first",)
    assert found.plugins == (("org.example.A", "sink"),)


@pytest.mark.parametrize(
    ("name", "files", "note"),
    [
        ("kafka-clients-3.9.1.jar", {}, "'kafka-clients-3.9.1.jar' is of Kafka '3.9.1'; plugins run on Kafka 4"),
        ("uber.jar", {"kafka/kafka-version.properties": b"version=2.0.0\n"}, "'uber.jar' is of Kafka '2.0.0'; "),
        ("uber.jar", {"kafka/kafka-version.properties": b"\x1b=4"}, "'uber.jar' is of Kafka ''; "),
        ("kafka-clients-4.1.1.jar", {"kafka/kafka-version.properties": b"version=4.1.1\n"}, ""),
        ("kafka-connect-demo-3.1.jar", {}, ""),
    ],
)
def test_another_kafka_is_named(name: str, files: dict[str, bytes], note: str, tmp_path: Path) -> None:
    """Its classes give way to those of the stage, so what it alone has is missing when a plugin runs."""
    found = content(jar(tmp_path / name, java_class("org/example/A", SINK), **files))
    assert len(found.notes) == bool(note)
    assert all(each.startswith(note) for each in found.notes)


def test_service_manifest_that_names_nothing_is_a_fault(tmp_path: Path) -> None:
    """The other plugins stay usable."""
    manifest = {f"{SERVICES}{SINK.replace('/', '.')}": b"org.example.Gone\nnot a class\n"}
    found = content(jar(tmp_path / "a.jar", java_class("org/example/A", SINK), **manifest))
    where = f"a.jar: {SERVICES}org.apache.kafka.connect.sink.SinkConnector names"
    assert found.faults == (
        f"{where} 'not a class', which is no class",
        f"{where} 'org.example.Gone', which is not in the bundle",
    )
    assert found.plugins == (("org.example.A", "sink"),)


def test_damaged_class_is_named_with_its_jar(tmp_path: Path) -> None:
    """The error says where it is."""
    damaged = jar(tmp_path / "a.jar", **{"org/example/A.class": java_class("org/example/A", SINK)[:60]})
    with pytest.raises(BundleError, match=r"a\.jar: org/example/A\.class: it is no class file"):
        content(damaged)


def test_more_classes_than_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds for the bundle, not for each jar."""
    monkeypatch.setattr(java_content, "MAX_CLASSES", 2)
    jars = [jar(tmp_path / f"{n}.jar", java_class(f"A{n}"), java_class(f"B{n}")) for n in range(2)]
    with pytest.raises(BundleError, match="more than 2 classes"):
        content(*jars)


def test_native_libraries_are_named(tmp_path: Path) -> None:
    """They are listed and not loaded."""
    files = {"linux/a.so": b"", "win/a.DLL": b""}
    found = content(jar(tmp_path / "a.jar", java_class("org/example/A", SINK), **files))
    assert found.notes == ("native libraries: 2, such as 'a.jar: linux/a.so'; Java does not check what they do",)


def test_content_is_kept_by_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept in another form, or damaged, is read again."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    found = JavaContent((("org.example.A", "sink"),), 17, ("a fault",), ("a clash",))
    assert remembered("k") is None
    remember("k", found)
    assert remembered("k") == found
    (tmp_path / "java-bundles" / "k.json").write_text('{"format": 1, "plugins": [1]}')
    assert remembered("k") is None
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "java-bundles" / "k.json"))
    remember("k", found)


def test_archives_share_the_limit_of_what_they_unpack_to(tmp_path: Path) -> None:
    """Many small archives cost no more than one."""
    jars = [
        jar(tmp_path / f"{number}.jar", **{f"A{number}.class": java_class(f"A{number}") + bytes(15 << 20)})
        for number in range(5)
    ]
    assert len(content(*jars[:4]).plugins) == 0
    with pytest.raises(BundleError, match=r"its classes unpack from .* more than the limit"):
        content(*jars)


def test_archives_share_the_limit_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that are no classes count too: each costs memory."""
    monkeypatch.setattr(java_content, "MAX_ENTRIES", 5)
    jars = [jar(tmp_path / f"{number}.jar", a=b"", b=b"", c=b"") for number in range(2)]
    with pytest.raises(BundleError, match="its archives hold more than 5 entries"):
        content(*jars)
