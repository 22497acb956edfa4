-- The check and the change in one statement: no row changed means sold out (DEC-2025-09-22-001).
UPDATE stock
   SET reserved = reserved + %(pieces)s
 WHERE sku = %(sku)s
   AND on_hand - reserved >= %(pieces)s;
