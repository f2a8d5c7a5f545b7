"""What is there and what runs, by watches."""
