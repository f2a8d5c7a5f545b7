"""Results of `check`, `policy` and `lint` in the formats that other programs read.

A verb makes a `Report` of what it found; `formatted` writes it. Nothing here knows of a verb.
"""
