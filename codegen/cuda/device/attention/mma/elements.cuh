// Random draws for the elements of a tile, and calls of the score_mod (`body`) for each element.
// A cell is two adjacent columns of one row of the accumulators (Sums in tiles.cuh), and each lane holds
// several cells. One call of body_draw returns the 16-bit random numbers of eight adjacent keys of a query,
// two per word. Each of the four lanes of a quad needs one word of each of four calls. So each lane makes one
// call, and the lanes then exchange words.
// Requires: tiles.cuh.


// kDrawSlots: random ops of the score_mod, at least 1. kLaneRows: rows of accumulators per lane.
// Words: for each random op, the numbers of four cells of the lane, two per word.
constexpr int kDrawSlots = kDraws > 0 ? kDraws : 1, kLaneRows = 2 * kRowTiles;
typedef unsigned Words[kDrawSlots][4];

// Batch row b and query head h, and the numbers of heads, queries and keys.
struct Head {
  int b, h, heads, queries, keys;
};
// Returns the index of a query in arrays [batch, head, query], such as lse.
SM long long row_of(const Head& head, int query) {
  return (long long)(head.b * head.heads + head.h) * head.queries + query;
}

// The query and the key of the first element of the lane in its warp's accumulators.
struct Corner {
  int query, key;
};

// A cell is in row 8 * row and in columns 8 * tile and 8 * tile + 1, counted from the lane's first element.
struct Cell {
  int row, tile;
};
// Returns the cell whose numbers are in word j (0 to 3) of the lane, in group `group` of four cells (see
// draw).
template <int kColumnTiles>
SM constexpr Cell cell_of(int group, int j) {
  constexpr int kOfRow = kRowsAreKeys ? 1 : kColumnTiles / 4;  // groups of a row
  if constexpr (!kRowsAreKeys) return {group / kOfRow, group % kOfRow * 4 + j};
  return kRowTiles == 2 ? Cell{j, group} : Cell{j % 2, 2 * group + j / 2};
}
// Return the query or the key of element e (0 or 1) of a cell.
SM int query_of(const Corner& corner, const Cell& cell, int e) {
  return corner.query + (kRowsAreKeys ? 8 * cell.tile + e : 8 * cell.row);
}
SM int key_of(const Corner& corner, const Cell& cell, int e) {
  return corner.key + (kRowsAreKeys ? 8 * cell.row : 8 * cell.tile + e);
}
// Returns element e of a cell.
template <int kColumnTiles>
SM float& at(Sums<kColumnTiles>& sums, const Cell& cell, int e) {
  return sums[cell.row / 2][cell.tile][cell.row % 2 * 2 + e];
}

// With the lane at this distance, exchanges `second` of the lower lane for `first` of the upper lane.
SM void exchange(unsigned& first, unsigned& second, int distance) {
  const bool is_second = lane() & distance;
  const unsigned got = __shfl_xor_sync(~0u, is_second ? first : second, distance);
  if (is_second)
    first = got;
  else
    second = got;
}
// Transposes the 4 x 4 words of a quad: word j of lane i becomes word i of lane j.
SM void exchange_in_quad(unsigned (&words)[4]) {
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

// Draws a group of words per random op, in all lanes of the warp. If columns are queries (kRowsAreKeys), a
// word has two keys of one query after the exchange, and after the transpose two queries of one key.
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

// Takes the lower (which = 0) or upper half of this word of each random op.
SM void take_draws(unsigned (&draws)[kDrawSlots], const Words& words, int word, int which) {
#pragma unroll
  for (int op = 0; op < kDrawSlots; ++op)
    draws[op] = kDraws == 0 ? 0 : which ? words[op][word] >> 16 : words[op][word] & 0xffff;
}

// Calls function(cell, e, query, key, draws) for all elements of the lane in kColumnTiles tiles of columns.
// draws: kDrawSlots random numbers, or zeros unless kDrawn. All lanes of the warp call this.
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

// Returns the modified score times log2(e), or -inf if the query or key does not exist. kUnmasked: both
// exist, and the query sees the key. The score_mod takes valid indices only.
template <bool kUnmasked>
SM float modified_score(float score, const BodyArguments& body, const Head& head, int query, int key,
                        const unsigned* draws) {
  float modified, factor;
  const bool is_there = kUnmasked || (query < head.queries && key < head.keys);
  body_forward<kUnmasked>(body, head.b, head.h, min(query, head.queries - 1), min(key, head.keys - 1), draws,
                          score, modified, factor);
  return is_there ? modified * kLog2e : -infinity();
}
