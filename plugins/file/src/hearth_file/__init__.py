"""The FileStream connectors, which read the lines of a file as records and write records as lines.

`source` and `sink` contain the connectors, `setting` their settings, `source_task` and `sink_task` the tasks, which
`task_class` imports when it is called, so that describing a connector does not load Arrow. For the source task,
`stream` reads bytes and detects truncated and replaced files, `line` splits and decodes lines one by one as Java does
(the plain form), and `line_column` splits thousands at a time (the batch form). The plugin uses only `hearth_api`, and
Arrow for the batch form.
"""

VERSION = "4.3.1"
"""The Kafka Connect version of the corresponding classes, shown to users as the plugin version."""
