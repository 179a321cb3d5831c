"""A directory of bundles answers for a name the newest one that this host can take."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.packaging.bundle_index import find, search
from hearth_api import ConfigError, NotFoundError
from tests.bundles import build

POINTS = {"hearth.predicates": {"a.Demo": "demo:Demo"}}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Provide a directory with some versions of a bundle, one for another host, and a file that is no bundle."""
    for version in ("1.0", "1.10", "1.9"):
        build.plain_wheel(tmp_path, "demo", version, POINTS)
    build.plain_wheel(tmp_path, "demo", "2.0", POINTS, requires=("hearth-api>=99",))
    build.plain_wheel(tmp_path, "other-thing", "1.0", {"hearth.converters": {"x.Json": "o:J"}})
    build.truncated(tmp_path)
    (tmp_path / "README.md").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "version"), [("demo", "1.10"), ("Demo", "1.10"), ("demo==1.0", "1.0"), ("demo<1.10", "1.9")]
)
def test_newest_that_fits_is_found(text: str, version: str, index: Path) -> None:
    """By the requirement, and by the author API that it needs."""
    assert find(text, [str(index)]).version == version


def test_pre_releases_are_used_only_on_request(index: Path) -> None:
    """Or if there is nothing else; a pre-release must not reach users just because it is in the index."""
    for name, version in (("demo", "2.0rc1"), ("early", "1.0b1"), ("early", "1.0b2")):
        build.plain_wheel(index, name, version, POINTS)
    assert find("demo", [str(index)]).version == "1.10"
    assert find("demo==2.0rc1", [str(index)]).version == "2.0rc1"
    assert find("early", [str(index)]).version == "1.0b2"


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("demo>=3", "there is no demo>=3", "there are: 1.0, 1.10, 1.9, 2.0"),
        ("nothing", "there is no nothing", "search"),
        ("demo==2.0", "the newest requires hearth-api>=99", "newer Hearth"),
    ],
)
def test_a_missing_bundle_is_reported_with_the_available_ones(text: str, words: str, hint: str, index: Path) -> None:
    """So the user knows what to request."""
    with pytest.raises(NotFoundError, match=words) as raised:
        find(text, [str(index)])
    assert hint in str(raised.value.hint)


def test_an_invalid_name_is_bad_input(index: Path, tmp_path: Path) -> None:
    """So is a directory that does not exist."""
    for text in ("a b c", "demo @ https://example.org/demo.whl", 'demo; python_version < "3"'):
        with pytest.raises(ConfigError, match="neither a file nor the name of a bundle"):
            find(text, [str(index)])
    with pytest.raises(ConfigError, match="names extras"):
        find("demo[fast]", [str(index)])
    with pytest.raises(ConfigError, match="does not exist"):
        find("demo", [str(tmp_path / "nowhere")])


def test_search_looks_at_names_and_classes(index: Path) -> None:
    """Versions are sorted."""
    assert [each.version for each in search("DEMO", [str(index)])] == ["1.0", "1.9", "1.10", "2.0"]
    assert [each.name for each in search("json", [str(index)])] == ["other-thing"]
    assert len(search("", [str(index)])) == 5
