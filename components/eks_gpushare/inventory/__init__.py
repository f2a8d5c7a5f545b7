"""What there is of GPU sharing in files or programs of any kind, and what has to agree in it.

Readers of files and of a program's resources put items into one `Inventory`; the checks in `edges`
judge that, and know nothing of where it came from.
"""
