"""What is wrong within one document, a module for each kind of document."""
