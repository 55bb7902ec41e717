"""Why a logistic regression has no finite estimate: the kind of separation, its columns and rows, and what to do."""
