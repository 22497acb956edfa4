"""How full a window is: the limits of models, the zones, the growth, and its curve."""
