"""Ready-made validators with Kafka's messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_api.config.config_key import Validator
from hearth_api.errors import ConfigError
from hearth_api.pattern.error import PatternError
from hearth_api.pattern.expression import compile_pattern
from hearth_api.text import java_text


class Range(Validator):
    """Accepts numbers from `minimum` to `maximum`, both inclusive; `None` leaves a side unbounded."""

    def __init__(self, minimum: float | None = None, maximum: float | None = None) -> None:
        """Store the bounds."""
        self.minimum = minimum
        self.maximum = maximum

    @classmethod
    def at_least(cls, minimum: float) -> Range:
        """Return a range without an upper bound."""
        return cls(minimum)

    @classmethod
    def between(cls, minimum: float, maximum: float) -> Range:
        """Return a range with both bounds."""
        return cls(minimum, maximum)

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject `None` and numbers outside the range."""
        if value is None:
            raise ConfigError(name, None, "Value must be non-null")
        if self.minimum is not None and value < self.minimum:
            raise ConfigError(name, java_text(value), f"Value must be at least {java_text(self.minimum)}")
        if self.maximum is not None and value > self.maximum:
            raise ConfigError(name, java_text(value), f"Value must be no more than {java_text(self.maximum)}")

    def __str__(self) -> str:
        """Return the interval."""
        bounds = ["" if bound is None else java_text(bound) for bound in (self.minimum, self.maximum)]
        return f"[{','.join(part for part in (bounds[0], '...', bounds[1]) if part)}]"


class ValidString(Validator):
    """Accepts only the given texts; `None` is accepted if it is one of them."""

    def __init__(self, *valid: str | None) -> None:
        """Store the texts in the given order, which messages use."""
        self.valid = valid

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject every other text."""
        if value not in self.valid:
            raise ConfigError(name, value, f"String must be one of: {_joined(self.valid)}")

    def __str__(self) -> str:
        """Return the texts in brackets."""
        return f"[{_joined(self.valid)}]"


class CaseInsensitiveValidString(Validator):
    """Accepts the given texts in any case; never `None`."""

    def __init__(self, *valid: str) -> None:
        """Store the texts in upper case, in the order of Kafka's messages."""
        self.valid = _hash_set_order([text.upper() for text in valid])

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject `None` and every other text."""
        if value is None or value.upper() not in self.valid:
            raise ConfigError(name, value, f"String must be one of (case insensitive): {_joined(self.valid)}")

    def __str__(self) -> str:
        """Return the texts in brackets."""
        return f"(case insensitive) [{_joined(self.valid)}]"


class NonNull(Validator):
    """Accepts everything except `None`."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject `None`."""
        if value is None:
            raise ConfigError(name, None, "entry must be non null")

    def __str__(self) -> str:
        """Return Kafka's description."""
        return "non-null string"


class NonEmptyString(Validator):
    """Accepts `None` and any text except the empty one; surrounding blanks are already trimmed."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject the empty text."""
        if value == "":
            raise ConfigError(name, value, "String must be non-empty")

    def __str__(self) -> str:
        """Return Kafka's description."""
        return "non-empty string"


class NonEmptyStringWithoutControlChars(Validator):
    """Accepts `None` and non-empty texts without ISO control characters."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject the empty text and control characters; the message lists their code points."""
        if value is None:
            return
        if value == "":
            raise ConfigError(name, value, "String may not be empty")
        found = [str(ord(char)) for char in value if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
        if found:
            rule = "String may not contain control sequences but had the following ASCII chars: "
            raise ConfigError(name, value, rule + ", ".join(found))

    def __str__(self) -> str:
        """Return Kafka's description."""
        return "non-empty string without ISO control characters"


class ValidList(Validator):
    """Accepts lists without duplicates or empty items, restricted to the given texts if any (KIP-1161).

    For such a key, `ConfigDef.parse` drops duplicates with a warning before checking it; `validate` reports them.
    """

    def __init__(self, *valid: str, empty_allowed: bool = True, null_allowed: bool = False) -> None:
        """Store the texts and whether an empty list or `None` is accepted."""
        self.items = ValidString(*valid)
        self.empty_allowed = empty_allowed
        self.null_allowed = null_allowed

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject an invalid list as a whole first, then its first invalid item."""
        if value is None:
            if not self.null_allowed:
                raise ConfigError(f"Configuration '{name}' values must not be null.")
            return
        if not value and not self.empty_allowed:
            expected = str(self.items) if self.items.valid else "any non-empty value"
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {expected}")
        if len(set(value)) != len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
        for item in value:
            self._ensure_valid_item(name, item)

    def _ensure_valid_item(self, name: str, item: str) -> None:
        if item == "":
            raise ConfigError(f"Configuration '{name}' values must not be empty.")
        if self.items.valid:
            self.items.ensure_valid(name, item)

    def __str__(self) -> str:
        """Return the texts in brackets, or an empty text if every text is accepted."""
        return str(self.items) if self.items.valid else ""


class ListSize(Validator):
    """Accepts lists of at most `maximum` items, and `None`."""

    def __init__(self, maximum: int) -> None:
        """Store the maximum."""
        self.maximum = maximum

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject longer lists."""
        if value is not None and len(value) > self.maximum:
            raise ConfigError(name, value, f"exceeds maximum list size of [{self.maximum}].")

    def __str__(self) -> str:
        """Return Kafka's description."""
        return f"List containing maximum of {self.maximum} elements"


class Regex(Validator):
    """Accepts Java regular expressions; follows Kafka's `RegexValidator`."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject invalid regular expressions and `None`, with Java's message."""
        if value is None:
            # Kafka's message, word for word.
            reason = 'Cannot invoke "String.isEmpty()" because "this.pattern" is null'
            raise ConfigError(name, None, f"Invalid regex: {reason}")
        try:
            compile_pattern(value)
        except PatternError as error:
            raise ConfigError(name, value, f"Invalid regex: {error}") from error

    def __str__(self) -> str:
        """Return Kafka's description."""
        return "valid regex"


class Lambda(Validator):
    """Accepts the values that a function accepts; follows Kafka's `LambdaValidator`."""

    def __init__(self, ensure_valid: Callable[[str, Any], None], description: str) -> None:
        """Store the function, called as `Validator.ensure_valid`, and its description."""
        self._ensure_valid = ensure_valid
        self._description = description

    def ensure_valid(self, name: str, value: Any) -> None:
        """Call the function."""
        self._ensure_valid(name, value)

    def __str__(self) -> str:
        """Return the description."""
        return self._description


class Composite(Validator):
    """Accepts values that all its validators accept; reports the first error."""

    def __init__(self, *validators: Validator) -> None:
        """Store the validators in the order in which they are called."""
        self.validators = validators

    def ensure_valid(self, name: str, value: Any) -> None:
        """Call each validator in order."""
        for validator in self.validators:
            validator.ensure_valid(name, value)

    def __str__(self) -> str:
        """Return all descriptions."""
        return ", ".join(str(validator) for validator in self.validators)


def _hash_set_order(texts: list[str]) -> tuple[str, ...]:
    """Return the texts in the iteration order of Java's HashSet, as Kafka's messages list them."""
    distinct = list(dict.fromkeys(texts))
    buckets = 16
    while len(distinct) > buckets * 3 // 4:
        buckets *= 2
    return tuple(sorted(distinct, key=lambda text: _spread(text) % buckets))


def _spread(text: str) -> int:
    code = 0
    for char in text:
        code = (31 * code + ord(char)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def _joined(texts: tuple[str | None, ...]) -> str:
    return ", ".join("null" if text is None else text for text in texts)
