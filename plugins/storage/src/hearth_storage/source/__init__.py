"""Which files are read, and how far."""
