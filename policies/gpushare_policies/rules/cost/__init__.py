"""Rules on what the stack costs and how much of an account it takes."""
