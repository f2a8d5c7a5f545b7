"""What a stack costs per hour: its nodes, its other resources, and the range that it scales in."""
