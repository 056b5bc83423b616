"""Writes a run: its epochs, edges, events and lifetimes, and the slow answers that are computed after its end."""
