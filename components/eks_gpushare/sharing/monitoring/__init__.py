"""Rules, alerts and boards about the GPUs and shares of a stack, as documents of Prometheus."""
