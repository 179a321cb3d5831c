"""What the tests of plugins have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hearth_api.layout import template


@pytest.fixture(autouse=True, scope="package")
def _templates_of_few() -> Iterator[None]:
    """Let two rows of one layout use the column form, which normally needs thousands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "FEW", 2)
        yield
