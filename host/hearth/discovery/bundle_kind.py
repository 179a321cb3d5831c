"""The kinds of bundles: reads the bundle in any tree with the first kind that recognises it.

Another kind is one more reader in ``KINDS``. A bundle that was read before need not be opened again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hearth.discovery.bundle import Bundle
from hearth.discovery.java.java_bundle import read_java, recall_java
from hearth.discovery.python_bundle import read_python
from hearth.discovery.refusal import BundleError
from hearth.discovery.tree import Opener, Tree

Reader = Callable[[Path, Opener, Tree, str], Bundle | None]

KINDS: tuple[Reader, ...] = (read_python, read_java)
"""Python comes first: Python packages may carry jars, as pyspark does."""

_BUILD = "`hearth bundle install` builds it and puts it on plugin.path, `hearth bundle pack` makes a bundle of it"
_OTHER_FORMS = {
    ".zip": ("it holds archives one level too deep", "name this directory in plugin.path, or move them up"),
    ".gz": ("it holds archives one level too deep", "name this directory in plugin.path, or move them up"),
    "PKG-INFO": ("it is a source distribution", _BUILD),
    "pyproject.toml": ("it is the source of a project", _BUILD),
    "setup.py": ("it is the source of a project", _BUILD),
}


def read_bundle(location: Path, opener: Opener) -> Bundle:
    """Read the bundle at ``location``; raise ``BundleError`` with the reason if it is not a bundle.

    A single top-level folder, common in archives, is skipped.
    """
    known = recall_java(location, opener)
    if known is not None:
        return known
    with opener() as tree:
        top = _top(tree)
        for read in KINDS:
            found = read(location, opener, tree, top)
            if found is not None:
                return found
        raise _nothing(tree, top)


def _top(tree: Tree) -> str:
    """Return the folder that holds the layout: a single folder at the root is skipped."""
    files, folders = tree.children()
    return folders[0] if not files and len(folders) == 1 and not folders[0].endswith(".dist-info") else ""


def _nothing(tree: Tree, top: str) -> BundleError:
    """Return an error that names what the tree holds instead of a bundle."""
    files, folders = tree.children(top)
    if not files and not folders:
        return BundleError("it is empty", hint="remove it, or put a bundle there")
    below = [*files, *(path for folder in folders for path in tree.children(folder)[0])]
    endings = Counter(ending for path in below for ending in _OTHER_FORMS if path.endswith(ending))
    for ending in _OTHER_FORMS:
        if endings[ending]:
            reason, hint = _OTHER_FORMS[ending]
            return BundleError(reason if hint is _BUILD else f"{reason} and no distribution metadata", hint=hint)
    return BundleError("it has no metadata: neither a wheel nor a .dist-info folder, and no Java archive")
