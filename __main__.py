"""The program of every stack: read the stack file, build what it declares, export its outputs."""

import pulumi

from eks_gpushare import GpuSharingEnvironment
from eks_gpushare.stack import load_stack

# The name starts those of all resources and is part of every stack's state.
environment = GpuSharingEnvironment("gpushare", load_stack())

for name, value in environment.exports().items():
    pulumi.export(name, value)
