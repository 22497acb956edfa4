"""What happens in a workflow, and the points from which it can be taken up again: events and checkpoints."""
