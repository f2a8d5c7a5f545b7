"""From arguments to inputs: checked once, late ones waited for, errors in the caller's words."""
