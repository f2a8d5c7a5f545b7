"""Controllers of a stack that run for real, built as the control plane is."""
