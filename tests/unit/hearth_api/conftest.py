"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import settings

# The first example pays for imports, and test machines are shared: time says nothing here.
settings.register_profile("hearth", deadline=None)
settings.load_profile("hearth")
