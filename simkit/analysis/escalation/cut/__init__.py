"""Cuts: the cheapest changes that close all paths to a goal."""
