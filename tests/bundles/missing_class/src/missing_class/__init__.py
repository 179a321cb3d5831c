"""Lacks the class that its entry point names."""
