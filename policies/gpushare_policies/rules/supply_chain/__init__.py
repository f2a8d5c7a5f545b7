"""Rules on where software comes from and how exactly it is named."""
