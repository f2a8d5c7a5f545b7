"""The verbs that run a program: each a module, which comes with the components."""
