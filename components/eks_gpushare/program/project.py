"""The Pulumi program of a stack; how it is found is known to the stack files already."""

from __future__ import annotations

from eks_gpushare.stack_file.project import Project, ProjectError, find_project, stack_name

__all__ = ["Project", "ProjectError", "find_project", "stack_name"]
