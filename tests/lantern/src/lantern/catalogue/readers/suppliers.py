"""The four suppliers whose files come every night."""

from __future__ import annotations

from lantern.catalogue.readers.base import Reader


class Brightwell(Reader):
    supplier = "brightwell"
    columns = ("Item", "Title", "Text", "Net", "Qty")


class DynamoNord(Reader):
    """Sends prices with a third decimal, which are rounded."""

    supplier = "dynamo-nord"
    encoding = "cp1252"
    columns = ("Artikel", "Bezeichnung", "Langtext", "Preis", "Bestand")


class Pedalux(Reader):
    supplier = "pedalux"
    delimiter = "\t"
    columns = ("ref", "nom", "texte", "prix", "stock")


class Reflecta(Reader):
    """Changed the case of its SKUs overnight once (ISS-2025-09-18-001)."""

    supplier = "reflecta"
    columns = ("SKU", "NAME", "DESC", "PRICE", "STOCK")


READERS = (Brightwell(), DynamoNord(), Pedalux(), Reflecta())
