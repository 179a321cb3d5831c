"""Parses the README and the guides: code blocks, files, commands, requests, tables, headings, links."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

ROOT = Path(__file__).parents[1]
README = "README.md"
GUIDE = "host/guide"
_FILES = (ROOT / README, *sorted((ROOT / GUIDE).glob("*.md")))
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in _FILES}
"""The text of each page by its path in the checkout."""
TEXT = "\n".join(PAGES.values())
SERVER = "localhost:8083"
"""The address of the worker in requests."""
_BLOCK = re.compile(
    r"(?:`(?P<file>[^`\n]+)`:\n\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A code block: its page, language and text, and the name of its file, which ends the preceding paragraph."""

    page: str
    language: str
    text: str
    file: str | None


class Request(NamedTuple):
    """A request that a `curl` command sends to the worker."""

    method: str
    target: str
    media_type: str | None
    body: str | None

    @property
    def path(self) -> str:
        """Return the path without its parameters."""
        return urlsplit(self.target).path

    @property
    def parameters(self) -> dict[str, str]:
        """Return the parameters by their names."""
        return dict(parse_qsl(urlsplit(self.target).query))


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """Yield the code blocks of a page in order."""
    for found in _BLOCK.finditer(text):
        yield Block(page, found["language"], textwrap.dedent(found["text"]), found["file"])


BLOCKS = [block for page, text in PAGES.items() for block in blocks_of(page, text)]


def block(language: str, words: str, page: str | None = None) -> str:
    """Return the single code block of a language that contains the words, on one or any page."""
    (text,) = {
        each.text for each in BLOCKS if each.language == language and words in each.text and page in (None, each.page)
    }
    return text


def file(name: str) -> str:
    """Return the content of a file; several pages that show it must agree."""
    (text,) = {each.text for each in BLOCKS if each.file == name}
    return text


def commands(*pages: str) -> Iterator[str]:
    """Yield the command lines of pages, in order."""
    for page in pages:
        for each in BLOCKS:
            if each.page == page and each.language == "sh":
                yield from each.text.splitlines()


def request(line: str) -> Request:
    """Return the request of a `curl` command; supports only the options that the pages use."""
    given: dict[str, str | None] = {"-X": None, "-H": None, "-d": None, "--data-binary": None}
    words = iter(shlex.split(line)[1:])
    targets = []
    for word in words:
        if word in given:
            given[word] = next(words)
        else:
            assert word.startswith(SERVER), line
            targets.append(word.removeprefix(SERVER))
    (target,) = targets
    body = given["-d"] or given["--data-binary"]
    method = given["-X"] or ("GET" if body is None else "POST")
    media_type = given["-H"] and given["-H"].removeprefix("Content-Type: ")
    return Request(method, target, media_type, body)


def rows(text: str, head: str) -> Iterator[dict[str, str]]:
    """Yield the rows of tables with that first column, as maps from column head to cell."""
    heads: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells or heads:
            heads = heads if cells else []
        elif cells[0] == head:
            heads = cells
            continue
        if heads and set(cells) != {"---"}:
            yield dict(zip(heads, cells))


def first_cells(text: str, head: str) -> list[str]:
    """Return the first cell of each row of tables with that first column."""
    return [row[head] for row in rows(text, head)]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub generates them."""
    headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(text: str) -> Iterator[str]:
    """Yield the targets of a page's links."""
    yield from re.findall(r"\]\(([^)\s]+)\)", _BLOCK.sub("", text))
