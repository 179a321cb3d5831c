"""Making and checking bundles.

``project`` builds a project's wheel and gathers the wheels it needs, ``pack`` puts them with a manifest
into one zip file, ``verify`` checks any bundle in an environment of its own, ``description`` asks plugins
for their versions and configuration definitions in a stage process and remembers the answers.
"""

from hearth.packaging.description import Description, DescriptionStore
from hearth.packaging.pack import pack
from hearth.packaging.verify import Check, verify

__all__ = ["Check", "Description", "DescriptionStore", "pack", "verify"]
