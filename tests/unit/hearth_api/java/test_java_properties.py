"""The text of property files; how Java reads whole files is in the tests of `hearth.foundation.properties`."""

from __future__ import annotations

import pytest

from hearth_api import ConfigError
from hearth_api.java import parse_properties


def test_text_is_read_as_java_reads_it() -> None:
    """Comments, separators, escapes, continued lines; the last of equal keys counts."""
    text = "# none\n! none\na=1\nb : 2\nc 3\n\\u00e9\\ = \\t x\\\n   y\nd\na=4\nü=ö"
    assert parse_properties(text) == {"a": "4", "b": "2", "c": "3", "é ": "\t xy", "d": "", "ü": "ö"}


def test_a_malformed_escape_is_named_with_its_line() -> None:
    """As Java refuses it."""
    with pytest.raises(ConfigError, match=r"secrets, line 2: malformed escape '\\\\u12x'"):
        parse_properties("a=1\nb=\\u12x", "secrets")
