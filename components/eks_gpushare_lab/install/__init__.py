"""What a stack puts on the control plane: objects, stand-ins for charts, nodes."""
