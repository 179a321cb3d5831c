"""The FileStream connectors: the lines of a file become records, records become the lines of a file.

`source` and `sink` hold the connectors and their settings, `source_task` and `sink_task` what moves the
records. Below the source task, `stream` reads bytes and notices when a file is cut short or replaced,
`line` cuts them into lines one by one and decodes as Java does (the plain form), `line_column` cuts them thousands at
a time (the batch form). Nothing but `hearth_api` is used, and Arrow for the batch form.
"""

VERSION = "4.3.1"
"""The version of Kafka Connect whose classes these are, which is the version users see."""
