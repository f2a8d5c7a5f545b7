"""The process that Pulumi's engine starts for programs in other languages."""

from __future__ import annotations

import sys

from pulumi.provider import main

from eks_gpushare.plugin.provider import ComponentsProvider


def serve() -> None:
    """Serve the components until the engine ends the process."""
    main(ComponentsProvider(), sys.argv[1:])
