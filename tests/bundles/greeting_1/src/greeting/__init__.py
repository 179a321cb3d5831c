"""The first version of a small library."""

VERSION = "1.0"


def greet(name: str) -> str:
    """Return a greeting that names the version."""
    return f"hello {name} from greeting {VERSION}"
