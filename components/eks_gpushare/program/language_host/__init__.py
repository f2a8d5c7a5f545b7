"""Run programs of other languages than Python, by their language hosts, against our own monitor."""
