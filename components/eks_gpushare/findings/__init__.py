"""What a finding is, what a rule is, and how findings are shown to people."""
