"""How much a bundle may be: whatever its bytes say, reading it takes bounded memory and time.

Every figure is several times what the largest real bundles have. What exceeds one is turned away with the
figure, so that whoever really needs more learns which.
"""

MAX_TEXT = 4 << 20
"""Bytes of a metadata file: read whole into memory."""
MAX_MANIFEST = 8 << 20
"""Bytes of a manifest, whose JSON takes up to twenty times that once it is parsed."""
MAX_READ = 16 << 20
"""Bytes handed out by one read, the index of a zip file among them (it names some 150,000 files)."""
MAX_FILES = 100_000
"""Files in one bundle."""
MAX_DEPTH = 64
"""Folders inside each other."""
MAX_PATH, MAX_PART = 1024, 255
"""Bytes of a path inside a bundle and of one name in it, which file systems can hold."""
MAX_WHEELS = 2_000
"""Wheels in one bundle."""
MAX_PLUGINS = 1_000
"""Plugins of one bundle; Kafka's own largest has some sixty."""
MAX_NAME = 200
"""Characters of a class name, a reference, a distribution's name or a version."""

_FREE, _RATIO = 64 << 20, 20
_MAX_PASSING = 1 << 30


def bundle_limits(packed: int) -> int:
    """Return how many bytes an archive of a size may unpack to; real ones come to five times their size."""
    return max(_FREE, _RATIO * packed)


def passing_allowance(packed: int) -> int:
    """Return how many bytes may be unpacked into a passing file only to find out what is there."""
    return min(_MAX_PASSING, bundle_limits(packed))
