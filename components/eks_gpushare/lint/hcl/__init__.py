"""Terraform's language: from files to the values of resources, as far as they are constant.

What is not, such as what AWS tells, is `UNKNOWN`, and so is all that follows from it.
"""
