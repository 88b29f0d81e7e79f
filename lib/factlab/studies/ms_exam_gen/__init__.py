"""MS-Exam-Gen as the notebooks run it: corpus, topics, items, audit, panel, difficulty, option order, review, printed numbers."""
