"""Error messages for a master's refusal, with and without a secret."""

from __future__ import annotations

import pytest

from hearth.spark.standalone_master import ENCRYPT, _with_secret, _without_secret

DEMAND = "java.lang.IllegalStateException: Expected SaslMessage, received something else"
STRICT_DEMAND = "java.lang.IllegalArgumentException: Unknown challenge message."
CONFUSION = "java.lang.RuntimeException: java.io.EOFException"
MISMATCH = "javax.security.sasl.SaslException: DIGEST-MD5: digest response format violation. Mismatched response."


@pytest.mark.parametrize("refusal", [DEMAND, STRICT_DEMAND])
def test_missing_secret_is_an_error(refusal: str) -> None:
    """All three keys are named."""
    message = _without_secret(refusal)
    assert message is not None
    assert "spark.authenticate=true" in message
    assert "spark.network.crypto.enabled=true" in message
    assert "spark.authenticate.secret" in message


@pytest.mark.parametrize("refusal", [None, CONFUSION])
def test_open_cluster_is_accepted(refusal: str | None) -> None:
    """It understands nothing of what a stranger says, and takes everybody who speaks its language."""
    assert _without_secret(refusal) is None


@pytest.mark.parametrize(
    ("refusal", "encrypts", "message"),
    [
        (None, True, None),
        ("java.util.concurrent.TimeoutException: Timeout waiting for task.", True, None),
        (CONFUSION, True, "does not require a secret"),
        (DEMAND, True, "does not encrypt; set spark.network.crypto.enabled=true there"),
        (MISMATCH, True, "has another secret; set spark.authenticate.secret"),
        (MISMATCH, False, "has another secret; set spark.authenticate.secret"),
        ("java.io.IOException: Connection reset", True, "has another secret"),
    ],
)
def test_refusal_of_a_secret_names_the_difference(refusal: str | None, encrypts: bool, message: str | None) -> None:
    """It may be the secret, or that the other side has none, or that it does not encrypt."""
    found = _with_secret(refusal, {ENCRYPT: str(encrypts).lower()})
    assert (found is None) if message is None else (found is not None and message in found)
