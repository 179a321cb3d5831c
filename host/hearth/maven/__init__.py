"""Downloads jars from the Maven repositories that this machine is configured for, and caches them.

`jar` caches the jars that a lock file lists, and `ivy` downloads them with the Ivy inside pyspark.
"""
