"""Models as recipes from a table to rows: what a direction must satisfy for a likelihood to be climbed for ever."""
