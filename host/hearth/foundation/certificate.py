"""The key pair of this process and its self-signed certificate.

They are created at the start, used as long as the process lives, and never stored. The certificate only carries the
key: peers have received it beforehand and compare it as a whole, so it has no meaningful name and never expires.
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
        """Return a text without the key."""
        return f"Identity(certificate={self.certificate!r})"


class IdentityFailed(ConnectError):
    """No key could be created, so no task can connect."""

    code = "environment.identity"


def new_identity() -> Identity:
    """Create a key and its certificate in a child process.

    This avoids loading the library's 15 MB into the host, a third of the host's memory.
    """
    made = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True)
    if made.returncode:
        reason = (made.stderr.strip() or f"exit status {made.returncode}").splitlines()[-1]
        raise IdentityFailed(f"the key of the task link could not be created: {reason}", hint="reinstall cryptography")
    return Identity(**json.loads(made.stdout))


def make_identity() -> Identity:
    """Create a NIST P-256 key and a self-signed certificate, in this process."""
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
