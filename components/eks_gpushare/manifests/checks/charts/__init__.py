"""Values of charts."""
