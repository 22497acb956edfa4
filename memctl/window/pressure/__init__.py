"""How full a window is: the sizes of models' windows, the zones, the growth, and curves of the growth."""
