"""A first project: from a few choices to the files of a stack that can be checked and run."""
