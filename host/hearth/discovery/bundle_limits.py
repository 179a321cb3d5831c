"""Limits on bundles, which bound the memory and time of reading one.

Each limit is several times the value of the largest real bundles. Errors state the limit that was exceeded.
"""

MAX_TEXT = 4 << 20
"""Bytes of a metadata file, which is read whole into memory."""
MAX_MANIFEST = 8 << 20
"""Bytes of a manifest; the parsed JSON takes up to twenty times as much memory."""
MAX_READ = 16 << 20
"""Bytes returned by one read; an index of a zip file of this size names about 150,000 files."""
MAX_FILES = 100_000
"""Files in one bundle."""
MAX_DEPTH = 64
"""Depth of nested folders."""
MAX_PATH, MAX_PART = 1024, 255
"""Bytes of a path in a bundle and of one name in it, as file systems allow."""
MAX_WHEELS = 2_000
"""Wheels in one bundle."""
MAX_JARS = 2_000
"""Java archives in one bundle."""
MAX_ENTRIES = 400_000
"""Entries of all Java archives in one bundle."""
MAX_CLASSES = 200_000
"""Classes in one bundle; the largest real ones have a third of it."""
MAX_PARENTS = 1_000_000
"""Superclasses and interfaces that all classes of a bundle name together."""
MAX_CLASS = 16 << 20
"""Bytes of one class file, packed or unpacked."""
MAX_PLUGINS = 1_000
"""Plugins in one bundle; Kafka's largest has about sixty."""
MAX_NAME = 200
"""Characters of a class name, a reference, a distribution's name or a version."""

_FREE, _RATIO = 64 << 20, 20
_MAX_LISTING = 1 << 30


def bundle_limits(packed: int) -> int:
    """Return how many bytes an archive of a given size may unpack to; real ones unpack to five times their size."""
    return max(_FREE, _RATIO * packed)


def listing_limit(packed: int) -> int:
    """Return how many bytes may be unpacked into a temporary file just to list an archive."""
    return min(_MAX_LISTING, bundle_limits(packed))
