"""The compiled game: integers in, integers out. Imports numpy and numba only."""
