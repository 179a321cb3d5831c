"""Headers of class files are read, and damaged ones are refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.discovery.java.class_file import has_public_constructor, read_header
from hearth.discovery.refusal import BundleError
from tests.bundles.java import ABSTRACT, CONVERTER, INTERFACE, PUBLIC, TRANSFORMATION, java_class

REAL = java_class("org/example/Upper$Value", "org/example/Upper", (TRANSFORMATION, CONVERTER), release=21)


def test_header_has_name_parents_and_release() -> None:
    """Names stay in the form of the class file."""
    header = read_header(REAL)
    assert header.name == "org/example/Upper$Value"
    assert header.parents == ("org/example/Upper", TRANSFORMATION, CONVERTER)
    assert (header.release, header.is_concrete) == (21, True)


@pytest.mark.parametrize("flags", [0, PUBLIC | ABSTRACT, PUBLIC | INTERFACE | ABSTRACT])
def test_class_without_public_instances_is_not_concrete(flags: int) -> None:
    """An abstract class, an interface or a package-private class is not a plugin."""
    assert not read_header(java_class("A", flags=flags)).is_concrete


@pytest.mark.parametrize(
    ("kind", "flags", "is_usable"),
    [("()V", PUBLIC, True), ("()V", 0, False), ("(Ljava/lang/String;)V", PUBLIC, False)],
)
def test_constructor_is_public_and_takes_nothing(kind: str, flags: int, is_usable: bool) -> None:
    """Kafka's scanner calls no other."""
    data = java_class("A", constructor=kind, constructor_flags=flags)
    assert has_public_constructor(data) is is_usable


@given(st.integers(0, len(REAL) - 5))
def test_truncated_class_is_refused(length: int) -> None:
    """The constructor is at the end of the file, before two counts of attributes."""
    with pytest.raises(BundleError, match="no class file"):
        has_public_constructor(REAL[:length])


@given(st.binary(max_size=200), st.integers(0, len(REAL)), st.booleans())
def test_random_bytes_raise_nothing_but_the_refusal(noise: bytes, place: int, is_inside: bool) -> None:
    """Also where they replace a part of a real class."""
    data = REAL[:place] + noise + REAL[place + len(noise) :] if is_inside else b"\xca\xfe\xba\xbe" + noise
    for read in (read_header, has_public_constructor):
        with contextlib.suppress(BundleError):
            read(data)
