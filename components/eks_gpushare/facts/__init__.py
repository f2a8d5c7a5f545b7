"""What is held to be true of GPU sharing: each fact once, whoever says it under whatever name."""
