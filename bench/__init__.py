"""Benchmarks: memctl against named baselines, as ratios measured in one run."""
