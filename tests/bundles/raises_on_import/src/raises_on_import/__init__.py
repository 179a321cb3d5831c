"""Raises when it is imported."""

raise RuntimeError("this bundle cannot be imported")
