"""Rules on nodes: images, disks, the metadata service, taints and repair."""
