"""How a window is doing over time: metrics, alarms, trends, and how much a compression kept."""
