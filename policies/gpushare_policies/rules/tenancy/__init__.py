"""Rules on what keeps tenants apart."""
