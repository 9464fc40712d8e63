// Specification of a transformer, as plain data: every supported model is one value of TransformerSpec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

enum class NormKind : uint8_t { layer, rms };
/// Position of norms: before a block's attention and ffn (pre), after the residual sum (post), or before them
/// and again on their outputs (sandwich).
enum class NormPlace : uint8_t { pre, post, sandwich };
enum class Activation : uint8_t { relu, gelu_tanh, gelu_erf, silu, quick_gelu, tanh };
enum class PositionKind : uint8_t { none, learned, sinusoidal, rope, relative_buckets, alibi };
enum class RopeScaling : uint8_t { none, linear, dynamic, llama3, yarn };
/// Keys that the queries of a block see: all, or those in attention.window. The names are those of
/// transformers.
enum class LayerAttention : uint8_t { full_attention, sliding_attention };
enum class HeadKind : uint8_t { none, lm, mlm, sequence_classes, image_classes };
/// Task of a classification head: choose one of several classes, predict numbers, or choose any of several
/// classes.
enum class Problem : uint8_t { one_class, regression, several_classes };
/// Label smoothing by alpha: alpha / V for every class (all, as in PyTorch), or alpha / (V - 1) for every
/// class but the label (others, as in fairseq).
enum class Smoothing : uint8_t { all, others };
enum class TokenizerKind : uint8_t { automatic, none, bytes };  // automatic: bytes if vocab_size is 256

/// Sizes of a stack of blocks. If kv_heads, head_dim or ffn is 0, complete() sets the value in the field's
/// comment.
struct StackSpec {
  int64_t layers = 0;  // 0: the model has no such stack
  int64_t heads = 0;
  int64_t kv_heads = 0;  // heads
  int64_t head_dim = 0;  // hidden / heads
  int64_t ffn = 0;       // 4 hidden
  bool operator==(const StackSpec&) const = default;
};

struct TransformerSpec {
  std::string family = "transformer";  // determines the names of parameters: frontend/families/families.h
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
    bool zero_centered = false;   // the checkpoint has weight - 1
    bool final = true;            // a final norm after the last block
    bool final_is_hidden = true;  // the last of the returned hidden states is the final norm's result
    bool embedding = false;       // a norm after the embeddings
    bool final_dropout = false;   // dropout after the final norm, with probability dropout.embedding
    bool operator==(const Norm&) const = default;
  } norm;

  struct Attention {
    bool qkv_bias = true;
    bool out_bias = true;
    bool scaled = true;            // scores are multiplied by head_dim^-1/2
    bool scaled_by_layer = false;  // scores of block i are multiplied by 1 / (i + 1)
    int64_t scale_dim = 0;         // replaces head_dim in `scaled`; 0: it does not
    double soft_cap = 0;           // scores s become cap tanh(s / cap); 0: there is no cap
    int64_t window = 0;            // number of keys that a query sees, up to its own position; 0: no window
    int64_t window_from = 0;       // number of the first block with the window, if `layers` is empty
    std::vector<LayerAttention> layers;  // by block of the decoder; complete() repeats a shorter list
    bool qk_norm = false;                // each head's queries and keys are normalised
    bool fused_qkv = false;              // the checkpoint has one weight for query, key and value
    bool qkv_by_head = false;            // its rows are ordered by head, then by query, key and value
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
    int64_t offset = 0;            // number of rows of the table before the row of position 0
    bool counted = false;          // positions number the tokens from 1 without padding, which has 0
    bool counted_by_mask = false;  // positions number the unmasked tokens from 0; masked ones have -1
    bool interleaved = false;      // sinusoidal: sines and cosines alternate; false: sines first
    double rope_theta = 10000;
    double rotary_fraction = 1;  // fraction of head_dim that is rotated: the first elements
    RopeScaling scaling = RopeScaling::none;
    double scaling_factor = 0;                         // yarn: 0 means max_positions / original_max_positions
    double low_freq_factor = 1, high_freq_factor = 4;  // llama3
    double beta_fast = 32, beta_slow = 1;              // yarn
    double attention_factor = 0;                       // yarn; 0: 0.1 ln(factor) + 1
    int64_t original_max_positions = 0;                // 0: max_positions
    int64_t buckets = 32;                              // relative_buckets (T5): number of buckets
    int64_t max_distance = 128;  // relative_buckets: from this distance on, all are in the last bucket
    bool operator==(const Positions&) const = default;
  } positions;

  struct Embedding {
    int64_t width = 0;            // of token embeddings, which are projected to `hidden` and back; 0: hidden
    bool scaled = false;          // embeddings are multiplied by hidden^1/2
    bool frozen_padding = false;  // lookups of tokens.pad contribute no gradient to its row
    bool shared = true;           // encoder and decoder use one token table
    int64_t token_types = 0;      // number of token types; 0: the model has none
    /// Sizes of image models, in pixels of one side; 0: the model reads tokens.
    int64_t image_size = 0, patch_size = 0, channels = 0;
    bool class_token = false;  // image models: a learned token before the patches
    bool operator==(const Embedding&) const = default;
  } embedding;

  struct Dropout {  // probabilities
    double embedding = 0, residual = 0, attention = 0, activation = 0, classifier = 0;
    bool operator==(const Dropout&) const = default;
  } dropout;

  struct Head {
    HeadKind kind = HeadKind::lm;
    bool tied = true;  // the weight is the token table
    bool bias = false;
    bool offset = false;                   // a row of the checkpoint, not trained, is added to the logits
    bool scaled = false;                   // the head's input is multiplied by hidden^-1/2
    double soft_cap = 0;                   // logits x become cap tanh(x / cap); 0: there is no cap
    bool pooler = false;                   // a linear map and tanh of the first token, before the classes
    int64_t classes = 0;                   // of a classification head
    Problem problem = Problem::one_class;  // of a classification head; complete() sets regression for 1 class
    bool operator==(const Head&) const = default;
  } head;

  struct Criterion {
    double label_smoothing = 0;
    Smoothing smoothing = Smoothing::all;
    int64_t ignore_index = -100;  // label that does not count
    bool operator==(const Criterion&) const = default;
  } criterion;

  struct Init {
    double deviation = 0.02;  // standard deviation of weights; biases start at 0, norms at 1
    /// For projections into the residual stream, the deviation is multiplied by (2 layers)^-1/2.
    bool scale_residual = false;
    bool operator==(const Init&) const = default;
  } init;

  struct Tokens {
    int64_t bos = -1, pad = -1, decoder_start = -1;  // -1: there is none
    int64_t forced_bos = -1, forced_eos = -1;        // first new token; last token at the maximal length
    std::vector<int64_t> eos;                        // end tokens; empty: there is none
    bool operator==(const Tokens&) const = default;
  } tokens;

  TokenizerKind tokenizer = TokenizerKind::automatic;

  bool operator==(const TransformerSpec&) const = default;
};

/// Problem with one field, or with the whole spec if `field` is empty.
struct SpecProblem {
  std::string field;  // such as "decoder.heads"
  std::string text;   // such as "7 does not divide hidden = 48"
};

/// Sets the fields that have a default value, such as 0 or `automatic`, to the values that it stands for.
void complete(TransformerSpec& spec);
/// Returns all contradictions and missing values in a completed spec; empty if it is valid.
std::vector<SpecProblem> problems_of(const TransformerSpec& spec);

/// Returns all fields as a JSON object, with an object for each group ("decoder"). spec_from_object()
/// converts it back.
Json to_json(const TransformerSpec& spec);
/// Sets the fields of `spec` that `json` has, and completes the spec. Appends to `problems` unknown keys,
/// values of wrong types, and the result of problems_of().
void read_spec(const Json& json, TransformerSpec& spec, std::vector<SpecProblem>& problems);
/// Reads a spec that a person wrote: missing fields get the defaults of the family that it names. Throws one
/// Error with all problems; `file` is its name in messages.
TransformerSpec spec_from_object(const Json& json, std::string_view file);
/// Does the same for JSON text.
TransformerSpec spec_from_json(std::string_view text, std::string_view file = "<spec>");
/// Throws an Error with the message "FILE: 3 problems\n  decoder.heads: ..."
[[noreturn]] void fail_with_problems(std::string_view file, const std::vector<SpecProblem>& problems);

/// Returns the member at a dotted path, such as "decoder.heads"; a null pointer if there is none.
const Json* find_path(const Json& json, std::string_view path);
/// Returns the member at a dotted path, and creates it, and the objects that contain it, if there is none.
Json& make_path(Json& json, std::string_view path);

}  // namespace smelt
