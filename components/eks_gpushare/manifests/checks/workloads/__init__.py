"""Pods as they are written."""
