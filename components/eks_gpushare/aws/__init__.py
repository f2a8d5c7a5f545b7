"""AWS resources that several components register in the same way."""
