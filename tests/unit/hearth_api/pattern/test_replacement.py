"""Replacements have the same result as in Java."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hearth_api.java import PatternError, compile_pattern, compile_replacement

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "pattern.json").read_text("ascii"))


@pytest.mark.parametrize("case", GOLDEN["replacements"], ids=lambda case: ascii(case["replacement"]))
def test_replacement_gives_what_java_gives(case: dict[str, Any]) -> None:
    """Replacing the first and all matches gives Java's text; an invalid replacement is refused with Java's message."""
    pattern = compile_pattern(case["pattern"])
    if "error" in case:
        with pytest.raises(PatternError) as caught:
            compile_replacement(case["replacement"], pattern)
        assert str(caught.value) == case["error"]
        return
    replacement = compile_replacement(case["replacement"], pattern)
    assert pattern.sub(replacement, case["text"], count=1) == case["first"]
    assert pattern.sub(replacement, case["text"]) == case["all"]
