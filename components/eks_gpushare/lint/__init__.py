"""`lint`: reading files that others wrote, and what is wrong in and between them.

Readers turn documents into items of an inventory and say what is wrong within one document; the
inventory's checks say what is wrong between them.
"""
