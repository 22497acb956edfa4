"""The four levels of pages: rendered documents, § markers, references to code, and the pages that a change affects."""
