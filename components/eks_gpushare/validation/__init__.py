"""From plain data to the model, with everything that is wrong with its shape."""
