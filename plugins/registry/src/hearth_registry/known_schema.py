"""Parses schemas from a registry, with the schemas they reference."""

from __future__ import annotations

from hearth_registry.registry import RegisteredSchema, Registry
from hearth_registry.schema_format import FormatSchema, PayloadError, SchemaFormat
from hearth_registry.schema_text import Reference, SchemaText

MOST_REFERENCES = 1000
_RULES = ("domainRules", "encodingRules")


def parsed(form: SchemaFormat, registry: Registry, found: RegisteredSchema) -> FormatSchema:
    """Parse the schema in a registry's response.

    Raises `PayloadError` if it is of another format, has data contract rules or is invalid; registry errors if a
    reference cannot be resolved.
    """
    text = found.text
    if text is None:
        raise PayloadError(f"the registry has no text for schema {found.schema_id}")
    if text.schema_type != form.schema_type:
        raise PayloadError(f"schema {found.schema_id} is of type {text.schema_type}, not {form.schema_type}")
    for kind in _RULES:
        if (text.rules or {}).get(kind):
            raise PayloadError(
                f"schema {found.schema_id} has rules of a data contract ({kind}), which are not run",
                hint="remove its ruleSet, or choose a version without by use.schema.id",
            )
    return form.parse(text, _referred(registry, text))


def _referred(registry: Registry, text: SchemaText) -> dict[str, str]:
    """Return the directly and indirectly referenced texts by reference name."""
    texts: dict[str, str] = {}
    open_ends: list[Reference] = list(text.references)
    while open_ends:
        reference = open_ends.pop()
        if reference.name in texts:
            continue
        if len(texts) == MOST_REFERENCES:
            raise PayloadError(f"the schema refers to more than {MOST_REFERENCES} others")
        other = registry.by_version(reference.subject, reference.version, deleted=True).text
        if other is None:
            raise PayloadError(f"the registry has no text for {reference.subject!r} version {reference.version}")
        texts[reference.name] = other.text
        open_ends.extend(other.references)
    return texts
