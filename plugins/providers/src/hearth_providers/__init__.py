"""Kafka's config providers: what `${NAME:PATH:KEY}` stands for in a configuration.

`property_file` looks a key up in a file of properties, `directory_of_files` in a directory that holds a file for each
key, as containers are given their secrets, `environment_variable` among the variables of the host's environment.
`allowed_path` keeps the first two to some paths.
"""

from hearth_providers.directory_of_files import DirectoryConfigProvider
from hearth_providers.environment_variable import EnvVarConfigProvider
from hearth_providers.property_file import FileConfigProvider

__all__ = ["DirectoryConfigProvider", "EnvVarConfigProvider", "FileConfigProvider"]
