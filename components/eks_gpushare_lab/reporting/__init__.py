"""What came out, and why it differs from what was declared."""
