"""A key pair of this process's own and the certificate that carries its public half.

Made at start, used as long as the process lives, never stored. The certificate is a box for the key: whoever relies on
it was handed it beforehand and compares the whole of it, so it names nobody and never expires.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import datetime, timezone

from hearth_api import ConnectError

_FOR_EVER = datetime(2000, 1, 1, tzinfo=timezone.utc), datetime(9999, 12, 31, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Identity:
    """A private key and its certificate, both as PEM; only the certificate may be shown to others."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        """Return a text that does not give the key away."""
        return f"Identity(certificate={self.certificate!r})"


class IdentityFailed(ConnectError):
    """No key was made, so no task can be spoken to."""

    code = "environment.identity"


def new_identity() -> Identity:
    """Have a process of its own make a key and its certificate.

    It takes a moment, and leaves behind none of the library's 15 MB, a third of what a host needs.
    """
    made = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True)
    if made.returncode:
        reason = (made.stderr.strip() or f"exit status {made.returncode}").splitlines()[-1]
        raise IdentityFailed(f"the key of the task link was not made: {reason}", hint="reinstall cryptography")
    return Identity(**json.loads(made.stdout))


def make_identity() -> Identity:
    """Make a key on NIST P-256 and a certificate that is signed with it, in this process."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hearth")])
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(_FOR_EVER[0])
        .not_valid_after(_FOR_EVER[1])
        .sign(private, SHA256())
    )
    key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Identity(certificate.public_bytes(Encoding.PEM).decode(), key.decode())


if __name__ == "__main__":
    json.dump(asdict(make_identity()), sys.stdout)
