"""Reading what is applied to clusters: objects, values of charts, configurations, user data.

Readers turn documents into items of an inventory and say what is wrong within one document. The
policy pack reads programs with them, and `lint` files.
"""
