"""Runs a graph node by node when asked to: stops on wires, steps back, runs parts again."""
