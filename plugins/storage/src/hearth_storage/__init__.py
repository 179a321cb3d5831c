"""Files in object stores and directories: sinks and sources in columns.

`place` is where files are, `format` what is in them. `sink` decides which record goes into which file and when a file
ends, `source` which files are read and how far. `sink` and `source` stand on `place` and `format`, which know nothing
of them nor of each other. The plugin uses only `hearth_api`, Arrow and obstore.
"""

VERSION = "0.1.0"
"""The version of the connectors, shown to users as the plugin version."""
