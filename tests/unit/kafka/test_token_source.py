"""The source of a client's tokens, among its settings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hearth.kafka.token_source import TokenSource

TEXTS = st.dictionaries(st.text(max_size=5), st.text(max_size=9))


@given(st.text(max_size=9), TEXTS, TEXTS)
def test_a_source_is_read_as_it_was_written(name: str, options: dict[str, str], configs: dict[str, str]) -> None:
    """Whatever it holds; what is the same in another order is the same text, and no repr shows what it holds."""
    source = TokenSource(name, options, configs)
    assert TokenSource.of(source.text()) == source
    turned = TokenSource(name, dict(reversed(options.items())), dict(reversed(configs.items())))
    assert turned.text() == source.text()
    assert repr(source) == f"TokenSource(class_name={name!r})"
