"""REASONS as the notebooks run it: data set, queries, retrieval, adversarial swaps, domains, printed numbers."""
