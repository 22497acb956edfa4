"""The four levels of pages: rendered documents, § markers, references to code, and the pages that a change affects."""

MANY_RECORDS = 50  # new records after which the project's page needs a review; memctl's own page was wrong after 190
