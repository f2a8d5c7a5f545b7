"""Stacks with one thing broken at a time, and who notices it before pods, money or secrets do."""
