"""The walk to a separator: methods, the engines that carry them out, the loop that drives them, the run they leave."""
