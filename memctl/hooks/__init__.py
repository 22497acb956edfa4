"""Hooks of coding agents: what memctl does when their programs say that something happens."""
