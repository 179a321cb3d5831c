"""Which record goes into which file, and when a file ends."""
