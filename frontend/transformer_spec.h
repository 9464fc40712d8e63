// Specification of a transformer, as plain data: every supported model is one value of TransformerSpec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

enum class NormKind : uint8_t { layer, rms };
/// Position of norms: before a block's attention and ffn, after the residual sum, or before them and again on
/// their outputs.
enum class NormPlace : uint8_t { pre, post, sandwich };
enum class Activation : uint8_t { relu, gelu_tanh, gelu_erf, silu, quick_gelu, tanh };
enum class PositionKind : uint8_t { none, learned, sinusoidal, rope, relative_buckets, alibi };
enum class RopeScaling : uint8_t { none, linear, dynamic, llama3, yarn };
/// Keys that the queries of a block see: all, or those in attention.window; names as in transformers.
enum class LayerAttention : uint8_t { full_attention, sliding_attention };
enum class HeadKind : uint8_t { none, lm, mlm, sequence_classes, image_classes };
/// Problem of a classification head: one of several classes, numbers, or any of several classes at once.
enum class Problem : uint8_t { one_class, regression, several_classes };
enum class Smoothing : uint8_t {
  all,
  others
};  // alpha / V on every class (PyTorch), alpha / (V - 1) on the others (fairseq)
enum class TokenizerKind : uint8_t { automatic, none, bytes };  // automatic: bytes where vocab_size is 256

/// Stack of blocks. A zero of kv_heads, head_dim or ffn means the usual value; `complete` replaces it.
struct StackSpec {
  int64_t layers = 0;  // 0: there is no such stack
  int64_t heads = 0;
  int64_t kv_heads = 0;  // heads
  int64_t head_dim = 0;  // hidden / heads
  int64_t ffn = 0;       // 4 hidden
  bool operator==(const StackSpec&) const = default;
};

struct TransformerSpec {
  std::string family = "transformer";  // whose names the parameters carry: frontend/families/families.h
  int64_t vocab_size = 0;
  int64_t hidden = 0;
  int64_t max_positions = 0;  // 0: no maximum
  StackSpec encoder, decoder;
  bool parallel_residual = false;  // attention and ffn read the same residual stream, then both are added

  struct Norm {
    NormKind kind = NormKind::layer;
    NormPlace place = NormPlace::pre;
    double eps = 1e-5;
    bool bias = true;
    bool zero_centered = false;   // the checkpoint holds the weight less 1
    bool final = true;            // one more after the last block
    bool final_is_hidden = true;  // the last of the hidden states is after it
    bool embedding = false;       // one right after the embeddings
    bool final_dropout = false;   // dropout after the final norm
    bool operator==(const Norm&) const = default;
  } norm;

  struct Attention {
    bool qkv_bias = true;
    bool out_bias = true;
    bool scaled = true;            // scores times head_dim^-1/2
    bool scaled_by_layer = false;  // scores of block i times 1 / (i + 1)
    int64_t scale_dim = 0;         // scaled: scores times scale_dim^-1/2; 0: head_dim
    double soft_cap = 0;           // scores s become cap tanh(s / cap); 0: there is no cap
    int64_t window = 0;       // keys that a query sees, the last one at its own position; 0: all before it
    int64_t window_from = 0;  // the first block with the window, where `layers` does not say it
    std::vector<LayerAttention> layers;  // of every block; `complete` repeats a shorter list
    bool qk_norm = false;                // queries and keys are normalised, each head by itself
    bool fused_qkv = false;              // the checkpoint holds one weight for query, key and value
    bool qkv_by_head = false;            // in it a head's query, key and value follow each other
    bool operator==(const Attention&) const = default;
  } attention;

  struct Ffn {
    Activation activation = Activation::gelu_tanh;
    bool gated = false;  // activation(gate(x)) * up(x)
    bool bias = true;
    bool operator==(const Ffn&) const = default;
  } ffn;

  struct Positions {
    PositionKind kind = PositionKind::learned;
    int64_t offset = 0;            // rows of the table before position 0
    bool counted = false;          // tokens other than padding are counted; padding has position 0
    bool counted_by_mask = false;  // unmasked tokens are counted; others have position -1
    bool interleaved = false;      // sinusoidal: sines and cosines alternate, else the first half are sines
    double rope_theta = 10000;
    double rotary_fraction = 1;  // the share of head_dim that is turned, its first numbers
    RopeScaling scaling = RopeScaling::none;
    double scaling_factor = 0;                         // yarn; 0: max_positions / original_max_positions
    double low_freq_factor = 1, high_freq_factor = 4;  // llama3
    double beta_fast = 32, beta_slow = 1;              // yarn
    double attention_factor = 0;                       // yarn; 0: 0.1 ln(factor) + 1
    int64_t original_max_positions = 0;                // 0: max_positions
    int64_t buckets = 32;
    int64_t max_distance = 128;
    bool operator==(const Positions&) const = default;
  } positions;

  struct Embedding {
    int64_t width = 0;            // of a token's row, with projections to hidden and back; 0: hidden
    bool scaled = false;          // times hidden^1/2
    bool frozen_padding = false;  // looking up tokens.pad gives its row no gradient
    bool shared = true;           // encoder and decoder read one table of tokens
    int64_t token_types = 0;
    int64_t image_size = 0, patch_size = 0, channels = 0;  // patches instead of tokens
    bool class_token = false;
    bool operator==(const Embedding&) const = default;
  } embedding;

  struct Dropout {
    double embedding = 0, residual = 0, attention = 0, activation = 0, classifier = 0;
    bool operator==(const Dropout&) const = default;
  } dropout;

  struct Head {
    HeadKind kind = HeadKind::lm;
    bool tied = true;  // the weight is the token embedding's
    bool bias = false;
    bool offset = false;  // a row of the checkpoint that is added to the logits and not trained
    bool scaled = false;  // the hidden state times hidden^-1/2 before it
    double soft_cap = 0;  // logits x become cap tanh(x / cap); 0: there is no cap
    bool pooler = false;
    int64_t classes = 0;
    Problem problem = Problem::one_class;  // of a head over classes; a single class is a regression
    bool operator==(const Head&) const = default;
  } head;

  struct Criterion {
    double label_smoothing = 0;
    Smoothing smoothing = Smoothing::all;
    int64_t ignore_index = -100;
    bool operator==(const Criterion&) const = default;
  } criterion;

  struct Init {
    double deviation = 0.02;      // of weights; biases start at 0, norms at 1
    bool scale_residual = false;  // projections into the residual stream: times (2 layers)^-1/2
    bool operator==(const Init&) const = default;
  } init;

  struct Tokens {
    int64_t bos = -1, pad = -1, decoder_start = -1;  // -1: there is none
    int64_t forced_bos = -1, forced_eos = -1;        // what generation begins with, ends with at its longest
    std::vector<int64_t> eos;
    bool operator==(const Tokens&) const = default;
  } tokens;

  TokenizerKind tokenizer = TokenizerKind::automatic;

  bool operator==(const TransformerSpec&) const = default;
};

/// Problem with one field, or with the whole spec if `field` is empty.
struct SpecProblem {
  std::string field;  // "decoder.heads"
  std::string text;   // "7 does not divide hidden = 48"
};

/// Replaces zeros and `automatic` by the values that they mean.
void complete(TransformerSpec& spec);
/// Returns all reasons why a completed spec cannot be built, in terms of its fields; empty if it can.
std::vector<SpecProblem> problems_of(const TransformerSpec& spec);

/// Returns all fields, nested by the dots of their names; spec_from_json gives the same spec back.
Json to_json(const TransformerSpec& spec);
/// Reads fields over `spec` and completes it; unknown keys, wrong types and problems_of are appended to
/// `problems`.
void read_spec(const Json& json, TransformerSpec& spec, std::vector<SpecProblem>& problems);
/// Reads a spec as a person writes it: missing fields are as in the named family. Throws one Error with all
/// problems.
TransformerSpec spec_from_object(const Json& json, std::string_view file);
TransformerSpec spec_from_json(std::string_view text, std::string_view file = "<spec>");
/// "FILE: 3 problems\n  decoder.heads: ..."
[[noreturn]] void fail_with_problems(std::string_view file, const std::vector<SpecProblem>& problems);

/// Returns the value at a dotted path; null if there is none.
const Json* find_path(const Json& json, std::string_view path);
Json& make_path(Json& json, std::string_view path);

}  // namespace smelt
