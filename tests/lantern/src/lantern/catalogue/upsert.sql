-- Takes over what the import has staged. SKUs are normalised before they get here, see readers/base.py.
INSERT INTO catalogue.product AS old (supplier, sku, name, description, price, on_hand)
SELECT supplier, sku, name, description, price, on_hand
  FROM staging.product
 ORDER BY sku
    ON CONFLICT (sku) DO UPDATE
   SET name = excluded.name,
       description = excluded.description,
       price = excluded.price,
       on_hand = excluded.on_hand
 WHERE (old.name, old.description, old.price, old.on_hand)
       IS DISTINCT FROM (excluded.name, excluded.description, excluded.price, excluded.on_hand);
