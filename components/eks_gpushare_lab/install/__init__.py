"""What a stack puts on the control plane: objects, what charts would make, nodes."""
