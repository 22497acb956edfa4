-- One product for each SKU again, and no second spelling from now on (ISS-2025-09-18-001).
-- Of each pair the older id stays; no order pointed at the younger half.
DELETE FROM catalogue.product younger
 USING catalogue.product older
 WHERE upper(btrim(younger.sku)) = upper(btrim(older.sku))
   AND younger.id > older.id;

UPDATE catalogue.product SET sku = upper(btrim(sku)) WHERE sku <> upper(btrim(sku));

ALTER TABLE catalogue.product
  ADD CONSTRAINT sku_is_normalised CHECK (sku = upper(btrim(sku)));
