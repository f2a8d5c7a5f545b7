"""Rules with one condition inverted at a time, and whether a test of theirs notices it.

mutmut and cosmic-ray do the same with a new process, or a new import, for each mutant: seconds with
the SDKs. Here pytest collects once; each mutant is a fork of that, whose functions get other code.
"""
