// The functions of a score_mod ("body") that the text of an attention kernel calls. They modify each score
// and each weight.
//
// A kernel of attention consists of the text of the body, which defines the functions below, and a template:
// text that follows and calls them. The whole text has no #include. All functions are `static __device__
// __forceinline__` (the macro SM). b, h, t, s are the indices of batch, query head, query and key, and B, H,
// T, S are the sizes of these dims. Q, K, V are the queries, keys and values, and O is the result of the
// attention. A "d" before a name means the gradient with respect to it: dO is the gradient of O. `group`
// query heads share a head of keys and values. With score = scale * q.k:
//
//   weight = exp(modified - lse)            lse[b,h,t] = log sum_s exp(modified), f32, dense
//   O[b,h,t] = sum_s weight * factor * V[b,h/group,s]
//
//   struct BodyArguments { const float* bias; long long bias_stride; };
//       Example. The members are the pointers and numbers that the body reads, and differ from body to body.
//
//   int body_tile(const BodyArguments&, int b, int h, int t0, int t1, int s0, int s1)
//       Returns the mask state of the tile of queries [t0,t1) and keys [s0,s1). 0: all pairs are masked. 2:
//       no pair is masked. 1: some pairs may be masked; this is always a correct result. All threads of a
//       block call body_tile for the same tile, except in the templates for sm_90a. There each lane calls it
//       for a different tile, and passes two more arguments: the QueryNumbers and the KeyNumbers that the
//       next two functions return.
//   template <bool kByLane> QueryNumbers body_queries(const BodyArguments&, int b, int h, int t0, int t1)
//   template <bool kByLane> KeyNumbers body_keys(const BodyArguments&, int b, int h, int s0, int s1)
//       Some masks compare integers that they load from memory for each query or key, such as the number of
//       its document. These functions return the least and the largest of these integers for the given
//       queries or keys, and load nothing for an empty interval (t1 <= t0 or s1 <= s0). All lanes of a warp
//       must call them together, unless the constant kLooksUp is false (the mask loads no integers). kByLane:
//       the lanes have different queries or keys.
//   void body_draw(const BodyArguments&, int op, long long row, int column8, unsigned (&words)[4])
//       Draws eight random 16-bit numbers, for random op number `op` of the body. They are for the query with
//       row = (b * H + h) * T + t, and for the keys 8 * column8 to 8 * column8 + 7. Word w holds the number
//       of the key 8 * column8 + 2w in its low half, and that of the next key in its high half.
//   template <bool kUnmasked> void body_forward(const BodyArguments&, int b, int h, int t, int s,
//                                               const unsigned* draws, float score, float& modified,
//                                               float& factor)
//       `draws` are kDraws 16-bit numbers, one per random op of the body. A modified score of -inf means that
//       the query does not see the key. kUnmasked: body_tile is 2 for the tile, so masks need not be tested.
//       `factor` does not depend on the score.
//   void body_backward(const BodyArguments&, int b, int h, int t, int s, const unsigned* draws, float score,
//                      float weight, float product, float delta, float& mixed, float& dscore,
//                      float* gradients)
//       product = dO[b,h,t] . V[b,h/group,s]; delta[b,h,t] = dO[b,h,t] . O[b,h,t] - dlse[b,h,t]. The kernel
//       computes the weight, which is 0 if the query does not see the key, so masks need not be tested. mixed
//       = weight * factor (dV += mixed dO). dscore is the gradient of the score (dQ += scale dscore K, dK +=
//       scale dscore Q): weight * (factor * product - delta) times the derivative of `modified`. `gradients`
//       receives the gradients of the values that the body reads: row gradients, column gradients, then
//       element gradients (see below). Each is 0 where the weight is 0.
//
// t and s are always in range. Results that a caller does not use cost nothing, because all functions are
// inlined.
//
// There are three kinds of gradients of values that the body reads. All are f32, and complete when the kernel
// ends; no kernel needs a workspace or atomics for them:
//   row       [B,H,T], summed over s by the kernel of dQ, for values that do not depend on s: slopes [H],
//             biases [B,H,T], ...
//   column    [B,H,S], summed over t by the kernel of dK and dV, for values that depend on s but not on t:
//             biases [B,S], ...
//   element   [B or 1, H or 1, T, S], for values that depend on both t and s. A separate kernel sums them in
//             registers over the batch, the heads, both or neither.
// Further sums (over b, h or t) are ordinary reductions of these results.
#pragma once

#include <optional>
#include <string>

namespace smelt {

/// A factor of the weight that is either 0 or one positive number, as dropout has. The 16-bit draw d decides:
/// the factor is positive if (d >= from) == keeps_from.
struct KeptDraws {
  double factor = 0;  // kKeptFactor: the positive number; the text has 0 if AttentionHooks::kept is empty
  int from = 0;       // kKeptFrom: 0 to 65,536
  bool keeps_from = true;  // kKeepsFrom
};

/// A body: its text, and the constants that this text and the templates use, with their names in the text.
struct AttentionHooks {
  std::string text;                 // BodyArguments and the functions
  int draws = 0;                    // kDraws: random ops of the body
  bool draws_in_score = false;      // kDrawsInScore: `modified` depends on draws; false: only `factor` may
  bool has_factor = false;          // kHasFactor; false: the factor is always 1
  std::optional<KeptDraws> kept;    // set if the factor is 0 or one positive number
  bool plain_when_unmasked = true;  // kPlainWhenUnmasked: body_forward<true> leaves modified = score
  int row_gradients = 0;            // kRowGradients: number of row gradients
  int column_gradients = 0;         // kColumnGradients
  int element_gradients = 0;        // kElementGradients
};

/// The templates that call a body. In the templates for sm_90a (wgmma), each lane calls body_tile for a
/// different tile. If a factor is not 0, these templates use kKeptFactor as
/// its value.
enum class HookUse : uint8_t { mma, wgmma };

/// Returns the text of the constants and the body, which comes before the text of a kernel.
std::string hooks_text(const AttentionHooks& hooks);

}  // namespace smelt
