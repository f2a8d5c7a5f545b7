"""What AWS publishes of its own API, held against what the program registers."""
