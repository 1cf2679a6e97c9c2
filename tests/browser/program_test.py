"""Pages that the program writes: what they show equals its other outputs."""
