"""What commands in scripts and documentation say of GPU sharing."""
