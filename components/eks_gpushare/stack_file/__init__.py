"""Stack files: read as the engine reads them, and checked whole."""
