"""Parsing of property text; tests of `hearth.foundation.properties` compare whole files with Java."""

from __future__ import annotations

import pytest

from hearth_api import ConfigError
from hearth_api.java import parse_properties


def test_text_is_read_as_java_reads_it() -> None:
    """Comments, separators, escapes, continued lines; of equal keys the last one wins."""
    text = "# none\n! none\na=1\nb : 2\nc 3\n\\u00e9\\ = \\t x\\\n   y\nd\na=4\nü=ö"
    assert parse_properties(text) == {"a": "4", "b": "2", "c": "3", "é ": "\t xy", "d": "", "ü": "ö"}


def test_a_malformed_escape_is_named_with_its_line() -> None:
    """Java refuses it as well."""
    with pytest.raises(ConfigError, match=r"secrets, line 2: malformed escape '\\\\u12x'"):
        parse_properties("a=1\nb=\\u12x", "secrets")
