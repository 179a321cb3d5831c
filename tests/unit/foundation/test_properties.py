"""Property files mean what they mean to Java."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

from hearth.foundation.properties import load, parse, render
from hearth_api import ConfigError
from tests.java import java

TELLING = rb" \t\f\r\n=:#!\\uU00e9aAtnfrx" + b"\n\\\t\f\r \xe9\xff"
FILES = st.lists(
    st.sampled_from([bytes([byte]) for byte in TELLING] + [b"\\\n", b"\\u00e9", b"\r\n", b"key=", b"\\\\"]),
    max_size=24,
).map(b"".join)
"""Short files in which every character has a meaning to the format."""


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """Give the module one Java."""
    with java() as running:
        yield running


def read_by_java(jvm: Any, data: bytes) -> dict[str, str] | None:
    """Return how java.util.Properties reads the bytes, None if it refuses them."""
    properties = jvm.java.util.Properties()
    try:
        properties.load(jvm.java.io.ByteArrayInputStream(data))
    except Py4JJavaError as error:
        if "Malformed" not in str(error.java_exception):
            raise
        return None
    return dict(properties)


def read_here(data: bytes) -> dict[str, str] | None:
    """Return how Hearth reads the bytes, None if it refuses them."""
    try:
        return parse(data)
    except ConfigError:
        return None


@settings(
    max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=FILES)
@example(b"\\")
@example(b"\\\n")
@example(b"\\\r\n")
@example(b"\\\r")
@example(b"a\\\n\\\n")
@example(b"\\\n#x=1\n")
@example(b"a\\\n#b")
@example(b"a=b\\\n\n c=d")
@example(b"a : = b")
@example(b"\\u00e9=\\ud83d\\ude00")
@example(b"k=\\u12")
def test_any_file_reads_as_java_reads_it(jvm: Any, data: bytes) -> None:
    """Keys and values are those of java.util.Properties, and what it refuses is refused here."""
    assert read_here(data) == read_by_java(jvm, data)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(entries=st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=4))
def test_what_is_written_reads_back_here_and_in_java(jvm: Any, entries: dict[str, str]) -> None:
    """`render` is the inverse of reading, on both sides."""
    data = render(entries).encode("ascii")
    assert parse(data) == entries
    assert read_by_java(jvm, data) == entries


def test_kafkas_own_sample_files_read_unchanged(tmp_path: Path) -> None:
    """The forms found in Kafka's sample files: licence comments, blank lines, commented keys, plain pairs."""
    sample = tmp_path / "connect-standalone.properties"
    sample.write_text(
        "# A comment, as long as a licence\n#\n\n"
        "# which server\nbootstrap.servers=localhost:9092\n\n"
        "key.converter=org.apache.kafka.connect.json.JsonConverter\n"
        "key.converter.schemas.enable=true\n"
        "#plugin.path=\n"
        "offset.storage.file.filename=/var/lib/connect.offsets\n"
    )
    assert load(sample) == {
        "bootstrap.servers": "localhost:9092",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "true",
        "offset.storage.file.filename": "/var/lib/connect.offsets",
    }


def test_long_values_continue_over_lines() -> None:
    """A trailing backslash joins the next line without its leading blanks."""
    assert parse(b"topics=a,\\\n       b,\\\r\n\tc\nnext=1") == {"topics": "a,b,c", "next": "1"}


def test_last_of_equal_keys_counts() -> None:
    """A key may be given twice; the later value wins, as in Java."""
    assert parse(b"a=1\na=2\n") == {"a": "2"}


def test_bytes_beyond_ascii_are_latin_1() -> None:
    """UTF-8 in a file is not UTF-8 to Java: each byte is a character."""
    assert parse("name=é".encode("latin-1")) == {"name": "é"}
    assert parse("name=é".encode()) == {"name": "Ã©"}


def test_bad_escape_names_file_line_and_remedy(tmp_path: Path) -> None:
    """A `\\u` without four digits is the user's mistake and says where it is."""
    bad = tmp_path / "worker.properties"
    bad.write_text("fine=1\npath=C:\\users\n")
    with pytest.raises(ConfigError, match=r"worker\.properties, line 2: malformed escape '\\\\users'") as caught:
        load(bad)
    assert caught.value.hint is not None
    assert "backslash" in caught.value.hint


@pytest.mark.parametrize("name", ["missing.properties", "."])
def test_unreadable_file_is_named(tmp_path: Path, name: str) -> None:
    """A path that is no readable file is a configuration error with the path in it."""
    with pytest.raises(ConfigError, match=str(tmp_path)):
        load(tmp_path / name)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_sets_the_encoding(encoding: str) -> None:
    """Editors write one unasked; it is no part of the first key."""
    assert parse("name=ü\nb=2\n".encode(encoding)) == {"name": "ü", "b": "2"}


def test_file_that_contradicts_its_mark_is_an_error() -> None:
    """Rather than read as something else."""
    with pytest.raises(ConfigError, match=r"w\.properties has a byte order mark but is not utf-8: .* at byte 2"):
        parse(b"\xef\xbb\xbfa=\xff", "w.properties")
