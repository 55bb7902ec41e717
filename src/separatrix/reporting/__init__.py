"""How results are told: words with a sentence, tables, statistics of counts, the machine."""
