#!/bin/sh
# The nightly backup: the database, and the files on its host without which it can't be restored.
# Runs at 02:30 on the database host; docs/runbooks/restore.md is the way back.
set -eu

day=$(date +%F)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pg_dump --format=custom --file="$work/nightly-$day.dump" lantern

# pg_dump saves the dictionary shop_de, but not the file that it reads (ISS-2025-10-23-001).
tar --create --gzip --file="$work/tsearch-$day.tar.gz" \
    --directory=/usr/share/postgresql/16/tsearch_data shop_de.syn

psql --no-psqlrc --tuples-only --no-align --command='SELECT count(*) FROM checkout.placed_order' lantern \
    > "$work/orders-$day.count"

for file in "$work"/*; do
    rclone copyto "$file" "backup:lantern/$day/$(basename "$file")"
done
rclone delete --min-age 35d backup:lantern
