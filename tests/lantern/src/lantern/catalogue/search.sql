-- Products for the words of a visitor: by word stems and synonyms (shop_de), then by similar spelling (pg_trgm).
WITH asked AS (
    SELECT websearch_to_tsquery('shop_de', %(words)s) AS query
), found AS (
    SELECT product.sku, 1 + ts_rank_cd(product.words, asked.query, 32) AS score
      FROM catalogue.product, asked
     WHERE product.words @@ asked.query
    UNION ALL
    SELECT product.sku, similarity(product.name, %(words)s)
      FROM catalogue.product, asked
     WHERE product.name %% %(words)s
       AND NOT product.words @@ asked.query
)
SELECT product.sku, product.name, product.price, stock.on_hand - stock.reserved AS available
  FROM found
  JOIN catalogue.product USING (sku)
  JOIN stock USING (sku)
 ORDER BY found.score DESC, product.sold_last_month DESC, product.sku
 LIMIT 24;
