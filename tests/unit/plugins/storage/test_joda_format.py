"""Directories by time are those of Confluent's TimeBasedPartitioner: PathFormats.java ran on Joda-Time 2.14.1."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from hearth_api import ConfigError
from hearth_storage.sink.joda_format import JodaFormat, pattern_warnings, zone_of

with lzma.open(Path(__file__).with_name("path_format.jsonl.xz"), "rt") as _file:
    LINES = [json.loads(line) for line in _file]
TIMES: list[int] = LINES[-1]["times"]


@pytest.mark.parametrize("pattern", sorted({line["pattern"] for line in LINES[:-1]}))
def test_a_pattern_gives_the_texts_of_joda_time(pattern: str) -> None:
    """In zones whose clocks change by an hour or half of one, and periods from a minute to a week."""
    wrong: dict[Any, Any] = {}
    for line in LINES[:-1]:
        if line["pattern"] == pattern:
            made = JodaFormat(pattern, zone_of(line["zone"]))
            found = [made.text(made.start(time, line["duration"])) for time in TIMES]
            for time, text, java in zip(TIMES, found, line["texts"]):
                if text != java:
                    wrong[line["zone"], line["duration"], time] = (text, java)
    assert wrong == {}


@pytest.mark.parametrize("pattern", ["yyyy-bb", "'year=yyyy", "n"])
def test_an_unknown_letter_and_a_quote_without_end_are_refused(pattern: str) -> None:
    """Joda-Time refuses them, too."""
    with pytest.raises(ConfigError, match=r"Illegal pattern component|has no end"):
        JodaFormat(pattern, zone_of("UTC"))


@pytest.mark.parametrize(
    ("pattern", "warning"),
    [
        ("YYYY/MM/DD", "write dd for the day"),
        ("yyyy/mm/dd", "write MM for the month"),
        ("yyyy/MM/dd/hh", "write HH for hours"),
        ("xxxx/MM/dd", "write yyyy for the year"),
    ],
)
def test_letters_that_mean_something_else_are_warned_of(pattern: str, warning: str) -> None:
    """The text is Joda's all the same."""
    assert any(warning in each for each in pattern_warnings(pattern, "en-US"))


def test_a_usual_pattern_has_no_warning() -> None:
    """Also with names in another language, unless it has names."""
    assert pattern_warnings("'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH/'minute'=mm", "fr-FR") == []
    assert len(pattern_warnings("yyyy/MMM", "fr-FR")) == 1
