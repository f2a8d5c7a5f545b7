"""What stands in for the engine while a program runs in this process."""
