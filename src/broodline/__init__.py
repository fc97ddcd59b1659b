"""Broodline: an actor runtime for delegation between agents."""
