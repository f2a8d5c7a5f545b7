"""What words and options of commands say, as in the user data of nodes."""
