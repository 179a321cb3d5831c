"""Where files are: `place.Place`, and an implementation for each kind of store."""
