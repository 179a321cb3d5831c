"""What is in a file: `format.FileFormat`, and an implementation for each format."""
