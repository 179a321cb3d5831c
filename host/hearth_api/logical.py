"""The four logical types: each maps Python values (logical) to plain Connect values (physical).

A class stands for a type and is never instantiated: `Decimal.schema(2)`, `Timestamp.SCHEMA`.
"""

from __future__ import annotations

import datetime as dt
import decimal

from hearth_api.builder import SchemaBuilder
from hearth_api.errors import DataError
from hearth_api.schema import Schema

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MILLISECOND = dt.timedelta(milliseconds=1)
_MILLIS_PER_DAY = 86_400_000
# The default context rounds to 28 digits; a record's decimal keeps every digit.
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


class Decimal:
    """Exact decimals: logical `decimal.Decimal`, physical big-endian bytes of the unscaled number."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Decimal"
    SCALE_FIELD = "scale"

    @classmethod
    def builder(cls, scale: int) -> SchemaBuilder:
        """Start a schema of decimals with the given number of digits after the point."""
        return SchemaBuilder.bytes().name(cls.LOGICAL_NAME).parameter(cls.SCALE_FIELD, str(scale)).version(1)

    @classmethod
    def schema(cls, scale: int) -> Schema:
        """Return the required schema of that scale."""
        return cls.builder(scale).build()

    @classmethod
    def scale(cls, schema: Schema) -> int:
        """Return the scale of a schema."""
        text = (schema.parameters or {}).get(cls.SCALE_FIELD)
        if text is None:
            raise DataError("Invalid Decimal schema: scale parameter not found.")
        try:
            return int(text)
        except ValueError as error:
            raise DataError("Invalid scale parameter found in Decimal schema: ") from error

    @classmethod
    def from_logical(cls, schema: Schema, value: decimal.Decimal) -> bytes:
        """Return the bytes of a decimal, which must have the scale of the schema."""
        expected = cls.scale(schema)
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int):
            raise DataError(f"Decimal value is not a number: {value}")
        if -exponent != expected:
            raise DataError(
                "Decimal value has mismatching scale for given Decimal schema. "
                f"Schema has scale {expected}, value has scale {-exponent}."
            )
        unscaled = int(_EXACT.scaleb(value, expected))
        magnitude = unscaled if unscaled >= 0 else ~unscaled
        return unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)

    @classmethod
    def to_logical(cls, schema: Schema, physical: bytes) -> decimal.Decimal:
        """Return the decimal for its bytes."""
        unscaled = decimal.Decimal(int.from_bytes(physical, "big", signed=True))
        return _EXACT.scaleb(unscaled, -cls.scale(schema))


class Date:
    """Days without time or zone: logical `datetime.date`, physical INT32 days since 1970."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Date"
    SCHEMA: Schema

    @classmethod
    def builder(cls) -> SchemaBuilder:
        """Start a schema of days."""
        return SchemaBuilder.int32().name(cls.LOGICAL_NAME).version(1)

    @classmethod
    def from_logical(cls, schema: Schema, value: dt.date) -> int:
        """Return the days since 1970; a datetime must be midnight."""
        _check_name(schema, cls.LOGICAL_NAME, "Date")
        if isinstance(value, dt.datetime) and value.time() != dt.time():
            raise DataError("Kafka Connect Date type should not have any time fields set to non-zero values.")
        return value.toordinal() - _EPOCH_DAY

    @classmethod
    def to_logical(cls, schema: Schema, physical: int) -> dt.date:
        """Return the day a number of days after 1970-01-01."""
        _check_name(schema, cls.LOGICAL_NAME, "Date")
        try:
            return dt.date.fromordinal(physical + _EPOCH_DAY)
        except (ValueError, OverflowError) as error:
            text = f"date is outside of the years 1 to 9999: {physical} days since 1970"
            raise DataError(text) from error


class Time:
    """Times of day without zone: logical `datetime.time`, physical INT32 milliseconds since midnight."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Time"
    SCHEMA: Schema

    @classmethod
    def builder(cls) -> SchemaBuilder:
        """Start a schema of times of day."""
        return SchemaBuilder.int32().name(cls.LOGICAL_NAME).version(1)

    @classmethod
    def from_logical(cls, schema: Schema, value: dt.time) -> int:
        """Return the milliseconds since midnight; microseconds are truncated."""
        _check_name(schema, cls.LOGICAL_NAME, "Time")
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return seconds * 1000 + value.microsecond // 1000

    @classmethod
    def to_logical(cls, schema: Schema, physical: int) -> dt.time:
        """Return the time of day a number of milliseconds after midnight."""
        _check_name(schema, cls.LOGICAL_NAME, "Date")  # Kafka Connect's message names the wrong type too
        if not 0 <= physical < _MILLIS_PER_DAY:
            raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
        seconds, millis = divmod(physical, 1000)
        return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, millis * 1000)


class Timestamp:
    """Timestamps: logical aware `datetime.datetime` in UTC, physical INT64 milliseconds since 1970."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Timestamp"
    SCHEMA: Schema

    @classmethod
    def builder(cls) -> SchemaBuilder:
        """Start a schema of timestamps."""
        return SchemaBuilder.int64().name(cls.LOGICAL_NAME).version(1)

    @classmethod
    def from_logical(cls, schema: Schema, value: dt.datetime) -> int:
        """Return the milliseconds since 1970; microseconds are truncated."""
        _check_name(schema, cls.LOGICAL_NAME, "Timestamp")
        if value.tzinfo is None:
            raise DataError("datetime without time zone used for a Timestamp", hint="use UTC")
        return (value - _EPOCH) // _MILLISECOND

    @classmethod
    def to_logical(cls, schema: Schema, physical: int) -> dt.datetime:
        """Return the timestamp a number of milliseconds after 1970."""
        _check_name(schema, cls.LOGICAL_NAME, "Timestamp")
        try:
            return _EPOCH + dt.timedelta(milliseconds=physical)
        except OverflowError as error:
            text = f"timestamp is outside of the years 1 to 9999: {physical} ms since 1970"
            raise DataError(text) from error


def _check_name(schema: Schema, name: str, label: str) -> None:
    if schema.name != name:
        raise DataError(f"Requested conversion of {label} object but the schema does not match.")


Date.SCHEMA = Date.builder().build()
Time.SCHEMA = Time.builder().build()
Timestamp.SCHEMA = Timestamp.builder().build()
