"""Policy packs over what a program registered, or over the exported state of a stack."""
