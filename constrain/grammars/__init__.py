"""Grammar notations to nodes of the engine."""
