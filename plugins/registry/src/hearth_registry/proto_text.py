"""Prints Protobuf files exactly as the Java converter registers them."""

from __future__ import annotations

from dataclasses import replace

from hearth_registry.proto_file import ProtoEnum, ProtoField, ProtoFile, ProtoMessage

_VALUE_FIRST = ("precision", "scale")
"""The parameters that are printed with the value before the key."""
_ESCAPES = {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def proto_text(file: ProtoFile) -> str:
    """Return the text of a file."""
    head = [f'syntax = "{file.syntax}";\n']
    if file.package:
        head.append(f"package {file.package};\n")
    imports = [f'import "{path}";\n' for path in file.imports]
    options = [f"option {name} = {value};\n" for name, value in file.options]
    types = [_message(message) for message in file.messages] + [_enum(enum) for enum in file.enums]
    return "\n".join("".join(block) for block in (head, imports, options, types) if block)


def without_extensions(file: ProtoFile) -> ProtoFile:
    """Return a file without Confluent's options, which require an extension in Protobuf readers."""
    return replace(file, messages=[_without_extensions(each) for each in file.messages])


def _without_extensions(message: ProtoMessage) -> ProtoMessage:
    return replace(
        message,
        fields=[replace(each, params={}) for each in message.fields],
        messages=[_without_extensions(each) for each in message.messages],
    )


def _message(message: ProtoMessage) -> str:
    """Return a message; its declarations are grouped, each group after an empty line."""
    fields = [_field(each) for each in message.fields if each.oneof is None]
    oneofs = [_oneof(message, name) for name in message.oneofs]
    types = [_message(each) for each in message.messages] + [_enum(each) for each in message.enums]
    groups = ["".join(map(_indented, group)) for group in (fields, oneofs, types) if group]
    return f"message {message.name} {{{''.join(f'{chr(10)}{group}' for group in groups)}}}\n"


def _oneof(message: ProtoMessage, name: str) -> str:
    fields = "".join(_indented(_field(each)) for each in message.fields if each.oneof == name)
    return f"oneof {name} {{\n{fields}}}\n"


def _enum(enum: ProtoEnum) -> str:
    values = "".join(f"  {name} = {number};\n" for name, number in enum.values)
    return f"enum {enum.name} {{{chr(10) if values else ''}{values}}}\n"


def _field(each: ProtoField) -> str:
    label = "" if each.label is None else f"{each.label} "
    options = []
    if each.params:
        options.append(f"(confluent.field_meta) = {{\n  params: [\n{_params(each.params)}  ]\n}}")
    if each.json_name is not None:
        options.append(f'json_name = "{each.json_name}"')
    suffix = f" [{', '.join(options)}]" if options else ""
    return f"{label}{each.type} {each.name} = {each.number}{suffix};\n"


def _params(params: object) -> str:
    assert isinstance(params, dict)
    entries = []
    for key, value in params.items():
        lines = [f'key: "{_escaped(key)}"', f'value: "{_escaped(value)}"']
        first, second = reversed(lines) if key in _VALUE_FIRST else lines
        entries.append(f"    {{\n      {first},\n      {second}\n    }}")
    return ",\n".join(entries) + "\n"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(char, char) for char in text)


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())
