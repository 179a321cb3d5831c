"""Discovers the plugins of Java bundles by reading class files and service manifests, without a JVM.

``java_archive`` opens jars within limits; ``class_file`` reads what a class extends; ``plugin_class`` decides, as
Kafka Connect's scanners do, which classes are plugins, given the classes that the host itself has (``connect_class``).
``java_content`` reads a whole bundle and keeps the result by content; ``java_bundle`` recognises the forms.
"""
