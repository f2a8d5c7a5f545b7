"""`python -m eks_gpushare`: the command without its console script."""

from __future__ import annotations

import sys

from eks_gpushare.cli import main

if __name__ == "__main__":
    sys.exit(main())
