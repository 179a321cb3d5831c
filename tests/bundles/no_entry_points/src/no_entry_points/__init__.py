"""Holds nothing."""
