"""The start of a stage; ``tests/unit/isolation/test_environment_python.py`` tests it in real processes."""

from __future__ import annotations

import sys

import pytest

from hearth_stage.__main__ import _parts, check_interpreter


def test_fork_server_arguments_follow_a_separator() -> None:
    """A started stage has none of them."""
    assert _parts(["tag", "one", "--", "15", "3", "module"]) == [["tag", "one"], ["15", "3", "module"]]
    assert _parts(["tag"]) == [["tag"]]


def test_another_python_is_refused() -> None:
    """Packages compiled for one Python do not work in another."""
    check_interpreter(str(sys.implementation.cache_tag))
    with pytest.raises(SystemExit, match="was built for cpython-399"):
        check_interpreter("cpython-399")
