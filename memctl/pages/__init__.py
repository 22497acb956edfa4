"""Pages at four levels: rendered documents, § markers, references to code, and the pages that a change affects.

The levels are 1, the project; 2, its sections; 3, pages of details; and 4, the source files.
"""

MANY_RECORDS = 50  # new records after which the project's page needs a review; memctl's own page was wrong after 190
