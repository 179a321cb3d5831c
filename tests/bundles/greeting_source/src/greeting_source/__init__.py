"""A source connector whose records contain its version of the library ``greeting``."""
