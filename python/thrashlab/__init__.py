"""thrashlab from Python."""
