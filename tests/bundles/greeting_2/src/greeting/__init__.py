"""The second version of a small library; its function has another name."""

VERSION = "2.0"


def salute(name: str) -> str:
    """Return a greeting that names the version."""
    return f"greetings {name} from greeting {VERSION}"
