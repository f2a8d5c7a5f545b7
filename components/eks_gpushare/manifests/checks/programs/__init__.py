"""What runs on GPUs: servers of models, training, and what they are told."""
