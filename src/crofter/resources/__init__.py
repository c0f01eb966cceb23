"""The resources of the server: one per resource, all with the same furniture."""
