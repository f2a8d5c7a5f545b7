"""The components for programs in other languages than Python, by Pulumi's provider protocol."""
