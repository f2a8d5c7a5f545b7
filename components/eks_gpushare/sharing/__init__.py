"""Pure planners: from a checked environment to what nodes will be, hold and cost.

No Pulumi, no network. Components register what a plan says, and decide nothing themselves.
"""
