"""The stack file: its model, how it is read, and what is said about it when it is wrong.

Nothing in this package imports Pulumi, so that a stack file can be checked anywhere.
"""
