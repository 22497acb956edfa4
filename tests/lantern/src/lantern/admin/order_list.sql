-- The list of orders in the admin, with the times of the clock on our wall.
CREATE OR REPLACE VIEW admin.order_list AS
SELECT placed_order.id,
       placed_order.invoice_number,
       placed_order.token,
       placed_order.email,
       placed_order.country,
       placed_order.total,
       placed_order.vat,
       placed_order.status,
       placed_order.placed_at AT TIME ZONE 'Europe/Berlin' AS placed_at
  FROM checkout.placed_order
 -- Wrong for one hour a year: from 2 to 3 o'clock the local time comes twice (ISS-2025-10-29-001).
 ORDER BY placed_order.placed_at AT TIME ZONE 'Europe/Berlin' DESC;
