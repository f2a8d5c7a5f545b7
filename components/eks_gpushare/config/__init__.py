"""The model of the stack file, and nothing of how it is read or ruled."""
