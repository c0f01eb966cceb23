"""The command line of a cloud that may be anywhere: it speaks HTTP, and imports nothing of the server."""
