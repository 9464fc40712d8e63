// Scores of a tile of queries and keys in the forward kernels of attention, and the factors of their weights.
// The score_mod gives a factor for each weight, as for dropout. If every factor is either 0 or the constant
// kKeptFactor, the weights with factor 0 become 0, the other weights do not change, and the results are
// multiplied by kKeptFactor at the end.
// Requires: elements.cuh.


// kColumnTiles: fragments of 8 columns in a tile of keys. kSlack: in base 2, so weights are at most 2^kSlack.
constexpr int kColumnTiles = kColumns / 8;
constexpr float kSlack = kHasRest ? 0.0f : 8.0f;
typedef Sums<kColumnTiles> Scores;

// Replaces the products of Q and K by the modified scores times log2(e). scale: the factor that turns a
// product into a score. kUnmasked: the rows see all keys of the tile, so the mask is not tested. All lanes
// of a warp call this.
template <bool kUnmasked>
SM void modify(Scores& scores, const BodyArguments& body, const Head& head, const Corner& corner,
               float scale) {
  for_elements<kColumnTiles, kDrawsInScore>(
      body, head, corner, [&](const Cell& cell, int e, int query, int key, const unsigned* draws) {
        float& score = at<kColumnTiles>(scores, cell, e);
        score = modified_score<kUnmasked>(scale * score, body, head, query, key, draws);
      });
}

// Multiplies each weight by the factor that the score_mod gives. If kKeptFactor is not 0, a factor is either
// 0 or kKeptFactor, and only the weights with factor 0 are changed. All lanes of a warp call this.
SM void apply_factors(Scores& weights, const BodyArguments& body, const Head& head, const Corner& corner) {
  for_elements<kColumnTiles, (kDraws > 0)>(
      body, head, corner, [&](const Cell& cell, int e, int query, int key, const unsigned* draws) {
        float modified, factor;
        body_forward<true>(body, head.b, head.h, min(query, head.queries - 1), min(key, head.keys - 1), draws,
                           0.0f, modified, factor);
        float& weight = at<kColumnTiles>(weights, cell, e);
        if (kKeptFactor == 0.0f)
          weight *= factor;
        else if (factor == 0.0f)
          weight = 0.0f;
      });
}
