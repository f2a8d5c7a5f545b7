"""The readers, a module for each format; `in_clusters` and `every` have them in order.

Those of texts that are no documents are in `texts`: the policy pack does without them.
"""
