"""What the study notebooks compute and say beyond a score: one module for each of them.

`annotators` (DAHL section 5.3), `temperature` and `sample_check` (5.2), `published` (Table 2). Tables go in; tables, and sentences
built from their numbers, come out. Nothing here asks a model.
"""
