"""Separable or not, with proof, and how wide the margin is: tools tried in order under one budget."""
