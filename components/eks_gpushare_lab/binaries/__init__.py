"""The programs of the control plane: found on PATH, or built from pinned Go modules once."""
