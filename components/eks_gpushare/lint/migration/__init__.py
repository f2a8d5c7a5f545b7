"""From foreign files to a stack file: what was understood of them, as this project declares it."""
