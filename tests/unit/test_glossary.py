"""The glossary and the code use the same words, and each word has one meaning."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOST = ROOT / "host"
FILES = sorted(HOST.rglob("*.py"))
PLUGIN_FILES = sorted(ROOT.glob("plugins/*/src/**/*.py"))
COMPILED_FILES = sorted(each for ending in ("pyx", "pxd", "pxi") for each in HOST.rglob(f"*.{ending}"))
RETIRED = {
    "conduct": "sharing history",
    "crew": "supervisor",
    "doubt": "configuration warning",
    "enrichment": "alias key",
    "equipment": "leader services",
    "examination": "plugin validator",
    "forbearance": "retry budget",
    "inbox": "event queue",
    "intake": "put format",
    "knot": "recursive struct",
    "lane": "queue",
    "misfit": "mismatch",
    "outbox": "send buffer",
    "patience": "timeout",
    "putting": "in flight",
    "respondent": "responder",
    "said": "message",
    "seat": "registration",
    "sharer": "tenant",
    "shipment": "environment archive",
    "speaker": "log source",
    "spot": "position",
    "standstill": "pause",
    "survey": "plugin scanner",
    "told": "received",
    "travelling": "wire",
    "unfit": "mismatch",
    "unheard": "unacknowledged",
    "untold": "unconfirmed",
    "voice": "log source",
    "warmth": "prewarm",
    "wish": "context request",
}
"""Private words that were replaced by standard ones."""
TWO_SIDES = {
    **dict.fromkeys(("connector", "converter", "transformation"), "what authors write, and what runs it"),
    **dict.fromkeys(("conversion", "definition"), "of single values for authors, and on the wire of a stage"),
    **dict.fromkeys(("sink", "source"), "the loop of the task runtime, and the stage that answers it"),
    "stage": "the process, and that of a connector with the herder's calls",
    "task": "what authors write, what the herder supervises, and its run in an executor",
}
"""Names that several modules have, with the reason: each is one concept on two sides of an interface."""


def rows() -> Iterator[tuple[list[str], str, list[str]]]:
    """Yield the glossary's rows: words, meaning, and the modules and classes in the code."""
    text = (HOST / "guide" / "glossary.md").read_text(encoding="utf-8")
    for words, meaning, code in re.findall(r"^\| (?!word |---)([^|]+) \| ([^|]+) \|([^|]*)\|$", text, re.MULTILINE):
        yield words.split(", "), meaning, re.findall(r"`([\w./]+)`", code)


WORDS = [word for words, _, _ in rows() for word in words]
NAMES = [name for _, _, names in rows() for name in names]


@cache
def classes() -> Counter[str]:
    """Return how many classes of all files have a name."""
    trees = (ast.parse(path.read_text("utf-8")) for path in FILES)
    return Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))


def identifiers(path: Path) -> Iterator[str]:
    """Yield every name in a file and the file's own, including attributes and keyword arguments."""
    yield path.stem
    if path in COMPILED_FILES:  # not Python's grammar, so the words of comments count as well
        yield from re.findall(r"[A-Za-z_]+", path.read_text("utf-8"))
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for attribute in ("name", "id", "attr", "arg", "asname", "module"):
            if isinstance(name := getattr(node, attribute, None), str):
                yield name


def words_of(identifier: str) -> set[str]:
    """Return the words of an identifier in lower case, plurals also in the singular."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)}
    return words | {word.removesuffix(ending) for word in words for ending in ("s", "es")}


def test_each_word_has_one_row() -> None:
    """A word with two rows would have two meanings."""
    assert len(WORDS) > 30
    assert {word: count for word, count in Counter(WORDS).items() if count > 1} == {}


@pytest.mark.parametrize("name", NAMES)
def test_names_in_the_glossary_exist(name: str) -> None:
    """A path is a module or a package; a class can be imported from its module."""
    if "/" in name:
        assert (ROOT / name).exists()
        return
    module, _, class_name = name.rpartition(".")
    assert isinstance(getattr(importlib.import_module(module), class_name), type)


def test_classes_in_the_glossary_are_unique() -> None:
    """A search for the class of a word finds a single class."""
    named = {name.rpartition(".")[2] for name in NAMES if "/" not in name}
    assert {name for name in named if classes()[name] > 1} == set()


def test_class_names_are_unique() -> None:
    """A name in a traceback or a signature identifies the class."""
    assert [name for name, count in classes().items() if count > 1] == []


def test_module_names_are_unique() -> None:
    """A module is named after its contents, not its folder: editors do not show the folder."""
    modules = Counter(path.stem for path in FILES if not path.stem.startswith("__"))
    assert {name for name, count in modules.items() if count > 1} - TWO_SIDES.keys() == set()


@pytest.mark.parametrize(
    "path", [*FILES, *PLUGIN_FILES, *COMPILED_FILES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_identifier_has_a_retired_word(path: Path) -> None:
    """A standard word in one file and a private one in another look like two concepts."""
    found = {name: words_of(name) & RETIRED.keys() for name in identifiers(path)}
    assert {name: RETIRED[word] for name, words in found.items() for word in words} == {}


def test_retired_words_are_found_within_identifiers() -> None:
    """In the plural, and within a name of either style."""
    assert "wish" in words_of("_wishes")
    assert "seat" in words_of("seat_name")
    assert "lane" in words_of("QuickLanes")
    assert not words_of("planes") & RETIRED.keys()
