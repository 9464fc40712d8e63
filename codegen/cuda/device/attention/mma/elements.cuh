// Random numbers of a tile, and the body's functions called for its elements.
// A lane's sums are cells of two neighbouring columns. A call of the body's random op gives eight neighbouring keys of a query,
// of which a lane of a quad has two: one word, or half a word of two calls where columns are queries. So each lane makes one
// of four calls, and they exchange the words.
// Requires: tiles.cuh.


constexpr int kDrawSlots = kDraws > 0 ? kDraws : 1, kLaneRows = 2 * kRowTiles;
typedef unsigned Words[kDrawSlots][4];

struct Head {
  int b, h, heads, queries, keys;
};
SM long long row_of(const Head& head, int query) {
  return (long long)(head.b * head.heads + head.h) * head.queries + query;
}

// Where a warp's sums begin for a lane.
struct Corner {
  int query, key;
};

// Word j of the g-th group of draws is for the cell of this row and tile.
struct Cell {
  int row, tile;
};
template <int kColumnTiles>
SM constexpr Cell cell_of(int group, int j) {
  constexpr int kOfRow = kRowsAreKeys ? 1 : kColumnTiles / 4;  // groups of a row
  if constexpr (!kRowsAreKeys) return {group / kOfRow, group % kOfRow * 4 + j};
  return kRowTiles == 2 ? Cell{j, group} : Cell{j % 2, 2 * group + j / 2};
}
SM int query_of(const Corner& corner, const Cell& cell, int e) {
  return corner.query + (kRowsAreKeys ? 8 * cell.tile + e : 8 * cell.row);
}
SM int key_of(const Corner& corner, const Cell& cell, int e) {
  return corner.key + (kRowsAreKeys ? 8 * cell.row : 8 * cell.tile + e);
}
template <int kColumnTiles>
SM float& at(Sums<kColumnTiles>& sums, const Cell& cell, int e) {
  return sums[cell.row / 2][cell.tile][cell.row % 2 * 2 + e];
}

SM void exchange(unsigned& first, unsigned& second, int distance) {
  const bool is_second = lane() & distance;
  const unsigned got = __shfl_xor_sync(~0u, is_second ? first : second, distance);
  if (is_second)
    first = got;
  else
    second = got;
}
// Of four words of each lane of a quad, lane i gets word i of each.
SM void exchange_in_quad(unsigned (&words)[4]) {
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

template <int kColumnTiles>
SM void draw(Words& words, const BodyArguments& body, const Head& head, const Corner& corner, int group) {
  const int which = lane() & 3;
  int query, key;  // of the lane's call
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

SM void take_draws(unsigned (&draws)[kDrawSlots], const Words& words, int word, int which) {
#pragma unroll
  for (int op = 0; op < kDrawSlots; ++op)
    draws[op] = kDraws == 0 ? 0 : which ? words[op][word] >> 16 : words[op][word] & 0xffff;
}

// Calls function(cell, e, query, key, draws) for all of a lane's elements; with draws, or zeros.
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

// The body's modified score in base 2; -inf outside of the matrix.
template <bool kUnmasked>
SM float modified_score(float score, const BodyArguments& body, const Head& head, int query, int key,
                        const unsigned* draws) {
  float modified, factor;
  const bool is_there = kUnmasked || (query < head.queries && key < head.keys);
  body_forward<kUnmasked>(body, head.b, head.h, min(query, head.queries - 1), min(key, head.keys - 1), draws,
                          score, modified, factor);
  return is_there ? modified * kLog2e : -infinity();
}
