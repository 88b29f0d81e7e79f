"""What LExT's notebooks compute on tables: `items` (what is asked about), `stages` (prompts meet models), `trust` (parts and scores),
`report` (what the pages say), and one module for each of the other notebooks. Embedders and taggers are functions passed in."""
