"""Engines that are not this machine's: servers that see none of its files, clusters, and what goes wrong with them."""
