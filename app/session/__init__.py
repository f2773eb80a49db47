"""The engine session: it holds the graph and its weights, and does what it is asked."""
