"""Folders, files, locks and processes of this machine; nothing here knows of Kubernetes."""
