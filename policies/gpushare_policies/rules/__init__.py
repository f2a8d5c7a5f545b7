"""The rules, a folder for each theme and a module for each rule."""
