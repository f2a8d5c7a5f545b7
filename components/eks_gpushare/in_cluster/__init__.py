"""What components register in a cluster of this project's own: objects, their names and sources."""
