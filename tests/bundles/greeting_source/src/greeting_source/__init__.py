"""A source connector whose records tell which version of the library ``greeting`` it runs on."""
