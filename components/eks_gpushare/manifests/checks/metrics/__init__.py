"""What is measured of GPUs, and the autoscalers that go by it."""
