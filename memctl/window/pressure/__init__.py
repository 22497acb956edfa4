"""How full a window is: its limits by model, its zones, how fast it fills, and the curve of that."""
