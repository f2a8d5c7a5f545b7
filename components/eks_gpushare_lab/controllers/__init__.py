"""Controllers that a stack installs and that the lab runs as the real programs they are."""
