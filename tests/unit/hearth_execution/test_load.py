"""Loading classes by the reference of an entry point."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hearth_api import PluginError
from hearth_execution.load import load_class, version_of
from tests.timeouts import TIMEOUT


def test_class_is_found_by_module_and_attribute() -> None:
    """The reference has the form of an entry point."""
    assert load_class("collections:OrderedDict") is OrderedDict


def test_nested_class_is_found() -> None:
    """Kafka's ``$`` classes are nested classes here: ``module:Outer.Inner``."""
    assert load_class(f"{__name__}:Outer.Inner") is Outer.Inner


def test_modules_loaded_concurrently_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package and its submodule, each on a thread: both would deadlock, and Python lets one continue."""
    package = tmp_path / "egg_and_hen"
    package.mkdir()
    begun, pause = "import sys, time\nsys.is_egg_begun.set()\n", "time.sleep(0.1)\n"
    (package / "__init__.py").write_text(f"{begun}{pause}from egg_and_hen.hen import Plugin\n")
    (package / "hen.py").write_text(f"import egg_and_hen, time\n{pause}class Plugin: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "is_egg_begun", event := threading.Event(), raising=False)
    with ThreadPoolExecutor(2) as threads:
        egg = threads.submit(load_class, "egg_and_hen:Plugin")
        assert event.wait(TIMEOUT)
        hen = threads.submit(load_class, "egg_and_hen.hen:Plugin")
        assert egg.result() is hen.result()


class Outer:
    """Holds a class."""

    class Inner:
        """The class it holds."""


def test_missing_module_is_an_import_error_that_names_it() -> None:
    """Python's message names what is missing, including a dependency of the plugin."""
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load_class("no_such_module:Plugin")


@pytest.mark.parametrize("attribute", ["Nothing", "OrderedDict.Nothing"])
def test_missing_attribute_is_named_with_its_module(attribute: str) -> None:
    """A typing error in an entry point is reported."""
    with pytest.raises(PluginError, match=f"module 'collections' has no attribute '{attribute}'"):
        load_class(f"collections:{attribute}")


@pytest.mark.parametrize("reference", ["math:pi", "json:dumps"])
def test_reference_to_anything_but_a_class_is_rejected(reference: str) -> None:
    """Plugins are classes; functions and values are not."""
    with pytest.raises(PluginError, match="not a class"):
        load_class(reference)


class Silent:
    """Has no version."""


class Broken:
    """Raises in ``version``."""

    def version(self) -> str:
        """Fail."""
        raise RuntimeError("no version")


class Numbered:
    """Returns a version that is not text."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def version(self) -> Any:
        """Return what it was given."""
        return self._value


@pytest.mark.parametrize(
    ("plugin", "version"),
    [
        (Silent(), "undefined"),
        (Broken(), "undefined"),
        (Numbered("4.3.1"), "4.3.1"),
        (Numbered(2), "2"),
        (Numbered(None), None),
    ],
)
def test_failing_version_does_not_prevent_loading(plugin: Any, version: str | None) -> None:
    """A plugin without a version, or with one that raises, is ``undefined`` as in Kafka Connect."""
    assert version_of(plugin) == version
