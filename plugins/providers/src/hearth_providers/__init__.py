"""Kafka's config providers, which resolve `${NAME:PATH:KEY}` in configurations.

`property_file` looks up keys in a properties file, `directory_of_files` in a directory with one file for each key (the
form of container secrets), and `environment_variable` in the host's environment. `allowed_path` restricts the first
two to certain paths.
"""

from hearth_providers.directory_of_files import DirectoryConfigProvider
from hearth_providers.environment_variable import EnvVarConfigProvider
from hearth_providers.property_file import FileConfigProvider

__all__ = ["DirectoryConfigProvider", "EnvVarConfigProvider", "FileConfigProvider"]
