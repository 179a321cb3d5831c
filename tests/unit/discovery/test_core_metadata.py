"""Metadata of distributions is the same from wheels and from installed packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.discovery import Bundle, read
from hearth.discovery.core_metadata import CoreMetadata
from tests.bundles import build

POINTS = {"hearth.predicates": {"a.Demo": "demo:Demo"}}


def _metadata(location: Path) -> CoreMetadata:
    bundle = read(location)
    assert isinstance(bundle, Bundle)
    (found,) = bundle.packages()
    return found


def test_wheels_and_installed_packages_have_equal_metadata(tmp_path: Path) -> None:
    """Only the location differs."""
    wheel = _metadata(build.plain_wheel(tmp_path, "demo", groups=POINTS))
    site = _metadata(build.site(tmp_path / "site", "demo", groups=POINTS))
    assert (wheel.name, wheel.version) == (site.name, site.version) == ("demo", "1.0")
    assert (wheel.path, site.path) == ("demo-1.0-py3-none-any.whl", "demo-1.0.dist-info")


def test_requirements_are_read_and_malformed_ones_passed_by(tmp_path: Path) -> None:
    """Old packages have invalid requirements."""
    wheel = build.plain_wheel(tmp_path, "demo", groups=POINTS, requires=("hearth-api>=0.1", "what ever (!"))
    assert [str(each) for each in _metadata(wheel).requires] == ["hearth-api>=0.1"]


@pytest.mark.parametrize(
    ("lines", "licence", "is_expression"),
    [
        ("", "", False),
        ("License-Expression: MIT OR Apache-2.0\n", "MIT OR Apache-2.0", True),
        ("License: BSD\n", "BSD", False),
        ("License: Copyright of all\n        and their heirs\nClassifier: License :: OSI Approved :: MIT License\n",
         "MIT License", False),
        ("Classifier: License :: A\nClassifier: License :: B\n", "A AND B", False),
    ],
)  # fmt: skip
def test_licence_is_an_expression_or_a_name(lines: str, licence: str, is_expression: bool, tmp_path: Path) -> None:
    """A whole licence text is not a name; classifiers count only if there is nothing else."""
    build.site(tmp_path, "demo", groups=POINTS)
    with (tmp_path / "demo-1.0.dist-info" / "METADATA").open("a") as file:
        file.write(lines)
    found = _metadata(tmp_path)
    assert (found.licence, found.has_expression) == (licence, is_expression)
