"""Does not hold the class its entry point names."""
