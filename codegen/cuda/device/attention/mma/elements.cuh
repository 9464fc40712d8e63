// Loops over the scores that a warp holds in its accumulators (Sums in tiles.cuh): random numbers for each
// score, and calls of the score_mod (the functions body_draw and body_forward). The rows of the
// accumulators are queries and the columns are keys, or the reverse if kRowsAreKeys. A cell is two adjacent
// columns of one row. Each lane holds several cells.
// One call of body_draw returns 16-bit random numbers for eight adjacent keys of one query, in four words
// of two numbers. If columns are keys, these numbers are for eight adjacent columns of a row. The four
// lanes of a quad (four adjacent lanes) hold two of these columns each, so each lane needs one of the four
// words. Each lane of the quad makes one call, for different keys, and the lanes then exchange words.
// Requires: tiles.cuh.


// kDrawSlots: length of arrays with one element per random op of the score_mod; at least 1, because arrays
// cannot be empty. kLaneRows: rows of accumulators per lane. Words: for each random op (such as dropout),
// one word for each of four cells of the lane. A word has the random number of the cell's first element in
// its low half, and that of the second element in its high half.
constexpr int kDrawSlots = kDraws > 0 ? kDraws : 1, kLaneRows = 2 * kRowTiles;
typedef unsigned Words[kDrawSlots][4];

// Batch row b and query head h, and the sizes: query heads, queries and keys of a batch row.
struct Head {
  int b, h, heads, queries, keys;
};
// Returns the index of a query in an array [batch, query head, query], such as lse (the log of the sum of
// exp over the modified scores of a query).
SM long long row_of(const Head& head, int query) {
  return (long long)(head.b * head.heads + head.h) * head.queries + query;
}

// The query and the key of the first element that the lane holds in its warp's accumulators.
struct Corner {
  int query, key;
};

// The location of a cell, counted from the lane's first element: row 8 * row, columns 8 * tile and 8 * tile
// + 1.
struct Cell {
  int row, tile;
};
// The cells of a lane are processed in groups of four. Returns cell j (0 to 3) of group number `group`.
template <int kColumnTiles>
SM constexpr Cell cell_of(int group, int j) {
  constexpr int kOfRow = kRowsAreKeys ? 1 : kColumnTiles / 4;  // groups per row of the lane
  if constexpr (!kRowsAreKeys) return {group / kOfRow, group % kOfRow * 4 + j};
  return kRowTiles == 2 ? Cell{j, group} : Cell{j % 2, 2 * group + j / 2};
}
// Return the query and the key of element e (0 or 1) of a cell.
SM int query_of(const Corner& corner, const Cell& cell, int e) {
  return corner.query + (kRowsAreKeys ? 8 * cell.tile + e : 8 * cell.row);
}
SM int key_of(const Corner& corner, const Cell& cell, int e) {
  return corner.key + (kRowsAreKeys ? 8 * cell.row : 8 * cell.tile + e);
}
// Returns the accumulator of element e of a cell.
template <int kColumnTiles>
SM float& at(Sums<kColumnTiles>& sums, const Cell& cell, int e) {
  return sums[cell.row / 2][cell.tile][cell.row % 2 * 2 + e];
}

// Swaps a word of this lane with a word of the lane whose number differs by `distance` (1 or 2): `second`
// of the lower lane is swapped with `first` of the upper lane.
SM void exchange(unsigned& first, unsigned& second, int distance) {
  const bool is_second = lane() & distance;
  const unsigned got = __shfl_xor_sync(~0u, is_second ? first : second, distance);
  if (is_second)
    first = got;
  else
    second = got;
}
// Transposes the 4 x 4 words of a quad (four adjacent lanes): word j of lane i becomes word i of lane j.
SM void exchange_in_quad(unsigned (&words)[4]) {
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

// Draws the random numbers of group number `group` of the lane's cells. All lanes of the warp call it.
// After exchange_in_quad, a word has the numbers of two adjacent keys of one query. If columns are queries
// (kRowsAreKeys), a cell is two queries and one key; `transpose` then transposes 8 x 8 numbers between the
// lanes of the warp, so that a word has the numbers of a cell.
template <int kColumnTiles>
SM void draw(Words& words, const BodyArguments& body, const Head& head, const Corner& corner, int group) {
  const int which = lane() & 3;
  int query, key;  // the lane calls body_draw for this query and the eight keys from `key` on
  if (kRowsAreKeys) {
    query = corner.query - lane_column() + lane_row() + 8 * (kRowTiles == 2 ? group : 2 * group + which / 2);
    key = corner.key - lane_row() + 8 * (kRowTiles == 2 ? which : which % 2);
  } else {
    query = corner.query + 8 * cell_of<kColumnTiles>(group, 0).row;
    key = corner.key - lane_column() + 8 * (cell_of<kColumnTiles>(group, 0).tile + which);
  }
#pragma unroll
  for (int op = 0; op < kDraws; ++op) {
    body_draw(body, op, row_of(head, min(query, head.queries - 1)), key / 8, words[op]);
    exchange_in_quad(words[op]);
#pragma unroll
    for (int i = 0; i < 4 && kRowsAreKeys; ++i) transpose(words[op][i]);
  }
}

// Sets draws[op] to the number in the lower half (which = 0) or the upper half (which = 1) of
// words[op][word], for each random op; to 0 if there are no random ops.
SM void take_draws(unsigned (&draws)[kDrawSlots], const Words& words, int word, int which) {
#pragma unroll
  for (int op = 0; op < kDrawSlots; ++op)
    draws[op] = kDraws == 0 ? 0 : which ? words[op][word] >> 16 : words[op][word] & 0xffff;
}

// Calls function(cell, e, query, key, draws) for each element that the lane holds in 8 * kColumnTiles
// columns of the accumulators. e is 0 or 1, the number of the element in the cell. draws: one random
// number per random op, or zeros if kDrawn is false. All lanes of the warp call this.
template <int kColumnTiles, bool kDrawn, typename Function>
SM void for_elements(const BodyArguments& body, const Head& head, const Corner& corner,
                     const Function& function) {
#pragma unroll
  for (int group = 0; group < kLaneRows * kColumnTiles / 4; ++group) {
    Words words = {};
    if (kDrawn) draw<kColumnTiles>(words, body, head, corner, group);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const Cell cell = cell_of<kColumnTiles>(group, i / 2);
      unsigned draws[kDrawSlots];
      take_draws(draws, words, i / 2, i % 2);
      function(cell, i % 2, query_of(corner, cell, i % 2), key_of(corner, cell, i % 2), draws);
    }
  }
}

// Returns the modified score times log2(e), or -inf if the query or the key does not exist. kUnmasked: the
// query and the key exist, and the query sees the key. Otherwise, body_forward gets the last query in
// place of one that does not exist, and the same for keys, because it takes valid indices only.
template <bool kUnmasked>
SM float modified_score(float score, const BodyArguments& body, const Head& head, int query, int key,
                        const unsigned* draws) {
  float modified, factor;
  const bool is_there = kUnmasked || (query < head.queries && key < head.keys);
  body_forward<kUnmasked>(body, head.b, head.h, min(query, head.queries - 1), min(key, head.keys - 1), draws,
                          score, modified, factor);
  return is_there ? modified * kLog2e : -infinity();
}
