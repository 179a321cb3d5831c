"""The last line of an error."""

from __future__ import annotations

import traceback

import pytest

from hearth.datasource.data_source_error import DataSourceFailed, instructive
from hearth_api import ConfigError, ConnectError, PluginError


def shown(error: Exception) -> str:
    """Return what Spark shows of an error that is raised at its border."""
    with (
        pytest.raises(type(error) if not isinstance(error, ConnectError) else DataSourceFailed) as caught,
        instructive(),
    ):
        raise error
    return "".join(traceback.format_exception(caught.value))


def test_last_line_has_key_value_and_remedy() -> None:
    """Spark wraps it, and puts its own trace before it."""
    text = shown(ConfigError("batch.size", "many", "Not a number", hint="give a number"))
    assert text.splitlines()[-1].endswith(
        "Invalid value many for configuration batch.size: Not a number; give a number"
    )
    assert "direct cause" not in text


def test_last_line_includes_causes_once() -> None:
    """In one line, each once; the remedy is that of the first that has one."""
    inner = ConnectError("no route\nto host", hint="ask the network")
    outer = PluginError("the sink did not start")
    outer.__cause__ = inner
    again = ConnectError("no route to host")
    inner.__cause__ = again
    assert shown(outer).splitlines()[-1].endswith("the sink did not start: no route to host; ask the network")


def test_plugin_trace_precedes_the_last_line() -> None:
    """Authors look for it there."""
    error = PluginError("it broke")
    error.trace = "ValueError: it broke\n  File plugin.py, line 3"
    lines = shown(error).splitlines()
    assert lines[-1] == "it broke"
    assert lines[-2] == "  File plugin.py, line 3"


def test_unexpected_error_keeps_its_traceback() -> None:
    """A fault of ours is not dressed up."""
    assert "ZeroDivisionError: x" in shown(ZeroDivisionError("x"))
