"""MIG without a GPU: which layouts fit, where their instances lie, and why others do not."""

from __future__ import annotations
