// The rows of a block of decode attention. A row is a query of one of the kGroup query heads that share a key
// head.
// Requires: the prelude, and the constant kGroup.


// The rows of a block: `count` rows (at most kRows) of batch element b and key head key_head. kGroup query
// heads share the key head. Row r is query (first + r) / kGroup of the query head with index (first + r) %
// kGroup among them. queries, keys: numbers of queries and keys in the batch element.
struct Rows {
  int b, key_head, first, count, queries, keys;
};
// Return the query of a row, and its query head as an index among all query heads.
SM int query_of(const Rows& rows, int row) { return (rows.first + row) / kGroup; }
SM int head_of(const Rows& rows, int row) { return rows.key_head * kGroup + (rows.first + row) % kGroup; }
