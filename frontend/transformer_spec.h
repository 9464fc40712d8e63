// Specification of a transformer, as plain data: every supported model is one value of TransformerSpec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

/// LayerNorm or RMSNorm.
enum class NormKind : uint8_t { layer, rms };
/// Position of norms: before a block's attention and ffn (pre), after the residual sum (post), on the outputs
/// of attention and ffn (output), or both before attention and ffn and on their outputs (sandwich).
enum class NormPlace : uint8_t { pre, post, output, sandwich };
/// silu is x sigmoid(x), and quick_gelu x sigmoid(1.702 x).
enum class Activation : uint8_t { relu, gelu_tanh, gelu_erf, silu, quick_gelu, tanh };
/// learned and sinusoidal: a table of positions is added to the embeddings. rope: queries and keys are
/// rotated. relative_buckets (T5) and alibi: a term is added to the scores.
enum class PositionKind : uint8_t { none, learned, sinusoidal, rope, relative_buckets, alibi };
/// Methods to extend rope to longer sequences, with their names in the library transformers.
enum class RopeScaling : uint8_t { none, linear, dynamic, llama3, yarn, longrope };
/// Keys that the queries of a block see: all, or those in attention.window. The names are those of
/// the library transformers.
enum class LayerAttention : uint8_t { full_attention, sliding_attention };
/// Output of the model: logits of the next token (lm), of a masked token (mlm), of the classes of a text, of
/// an image or of each token, of the first and of the last token of an answer (spans), of each of several
/// texts that belong to one record (choices), or of masked tokens and of whether the second of two texts
/// follows the first (pretraining); none: the last hidden states, without logits.
enum class HeadKind : uint8_t {
  none,
  lm,
  mlm,
  sequence_classes,
  image_classes,
  token_classes,
  spans,
  choices,
  pretraining
};
/// Task of a classification head: choose one of several classes, predict numbers, or choose any number of
/// several classes (multi-label).
enum class Problem : uint8_t { one_class, regression, several_classes };
/// Label smoothing by alpha over V classes: alpha / V for every class (all, as in PyTorch), or
/// alpha / (V - 1) for every class but the label (others, as in fairseq).
enum class Smoothing : uint8_t { all, others };
/// bytes: token ids are bytes, so text files are data and prompts are text. automatic: bytes if vocab_size is
/// 256, else none.
enum class TokenizerKind : uint8_t { automatic, none, bytes };

/// Sizes of a stack of blocks. If kv_heads, head_dim or ffn is 0, complete() sets the field to the value that
/// its comment gives after "0:".
struct StackSpec {
  int64_t layers = 0;    // number of blocks; 0: the model has no such stack
  int64_t heads = 0;     // number of attention heads
  int64_t kv_heads = 0;  // number of heads of keys and values; 0: heads
  int64_t head_dim = 0;  // width of a head; 0: hidden / heads
  int64_t ffn = 0;       // width of the feed-forward layer; 0: 4 hidden
  bool operator==(const StackSpec&) const = default;
};

/// Specification of one model. Its groups of fields are the structs below.
struct TransformerSpec {
  /// Determines the defaults of all other fields and the names of parameters (frontend/families/families.h).
  std::string family = "transformer";
  int64_t vocab_size = 0;     // number of token ids
  int64_t hidden = 0;         // width of the residual stream
  int64_t max_positions = 0;  // length of the longest sequence; 0: no maximum
  StackSpec encoder, decoder;
  bool parallel_residual = false;  // attention and ffn read the same residual stream, then both are added
  double residual_factor = 1;      // outputs of attention and ffn are multiplied by it before they are added

  struct Norm {
    NormKind kind = NormKind::layer;
    NormPlace place = NormPlace::pre;
    double eps = 1e-5;            // added to the variance, or to the mean of squares
    bool bias = true;             // layer norms have a bias
    bool zero_centered = false;   // the checkpoint has weight - 1
    bool final = true;            // a final norm after the last block
    bool final_is_hidden = true;  // the last of the returned hidden states is the final norm's result
    bool embedding = false;       // a norm after the embeddings
    bool final_dropout = false;   // dropout after the final norm, with probability dropout.embedding
    bool operator==(const Norm&) const = default;
  } norm;

  struct Attention {
    bool qkv_bias = true;          // the projections to queries, keys and values have biases
    bool out_bias = true;          // the projection after attention has a bias
    bool scaled = true;            // scores are multiplied by head_dim^-1/2
    bool scaled_by_layer = false;  // scores of block i are multiplied by 1 / (i + 1)
    int64_t scale_dim = 0;         // used instead of head_dim in `scaled`; 0: head_dim
    double scale = 0;              // scores are multiplied by it; 0: see `scaled`
    double soft_cap = 0;           // scores s become cap tanh(s / cap); 0: there is no cap
    int64_t window = 0;            // number of keys that a query sees, up to its own position; 0: no window
    int64_t window_from = 0;       // number of the first block with the window, if `layers` is empty
    int64_t full_every = 0;  // each such block has no window, if `layers` is empty: the 6th, 12th, ... for 6
    /// One value per block of the decoder; a shorter list is repeated. Empty: window_from and full_every
    /// decide.
    std::vector<LayerAttention> layers;
    bool qk_norm = false;        // each head's queries and keys are normalised
    bool qk_norm_whole = false;  // qk_norm: the queries of all heads are one vector, and so are the keys
    bool fused_qkv = false;      // the checkpoint has one weight for query, key and value
    bool qkv_by_head = false;    // fused_qkv: q, k, v of head 0, then of head 1, ...; false: all of q first
    bool operator==(const Attention&) const = default;
  } attention;

  struct Ffn {
    Activation activation = Activation::gelu_tanh;
    bool gated = false;       // the layer computes activation(gate(x)) * up(x)
    bool bias = true;         // the linear maps of the layer have biases
    bool fused_gate = false;  // gated: the checkpoint has one weight, of gate and then of up
    bool operator==(const Ffn&) const = default;
  } ffn;

  struct Positions {
    PositionKind kind = PositionKind::learned;
    int64_t offset = 0;  // number of rows of the table before the row of position 0
    /// A token's position is 1 + the number of non-padding tokens before it; padding has position 0.
    bool counted = false;
    /// A token's position is the number of unmasked tokens before it; masked tokens have position -1.
    bool counted_by_mask = false;
    /// sinusoidal: sines and cosines alternate; false: sines first. rope: a pair is two neighbouring
    /// elements; false: the halves of the rotated elements are paired.
    bool interleaved = false;
    /// sinusoidal: the last of width / 2 frequencies is 1 / 10000, and the padding's row is 0, as in fairseq.
    bool ends_at_slowest = false;
    double rope_theta = 10000;     // rope: base of the frequencies
    double window_rope_theta = 0;  // rope: base in blocks with a window, without scaling; 0: rope_theta
    double rotary_fraction = 1;    // rope: fraction of head_dim that is rotated: the first elements
    RopeScaling scaling = RopeScaling::none;  // rope: extension to sequences longer than those of pretraining
    double scaling_factor = 0;  // ratio of the lengths; yarn: default max_positions / original_max_positions
    // The following four fields are numbers of periods (full turns). They are compared with the number of
    // periods that a frequency has in the longest sequence of pretraining.
    double low_freq_factor = 1;   // llama3: frequencies with fewer periods are scaled
    double high_freq_factor = 4;  // llama3: frequencies with more periods are not scaled
    double beta_fast = 32;        // yarn: frequencies with more periods are not scaled
    double beta_slow = 1;         // yarn: frequencies with fewer periods are scaled fully
    bool exact_bounds = false;    // yarn: beta_fast and beta_slow are not rounded to whole pairs
    double attention_factor = 0;  // yarn, longrope: factor of queries and keys; 0: derived
    /// yarn: if mscale and mscale_all_dim are not 0, the factor of queries and keys that attention_factor = 0
    /// means is the quotient of 0.1 m ln(scaling_factor) + 1 for m = mscale and for m = mscale_all_dim.
    double mscale = 0;
    double mscale_all_dim = 0;               // yarn: see mscale
    std::vector<double> short_factors = {};  // longrope: divisor of each pair's frequency; empty: 1
    std::vector<double> long_factors = {};   // longrope: the same, in longer batches than in pretraining
    int64_t original_max_positions = 0;      // longest sequence of pretraining; 0: max_positions
    int64_t buckets = 32;                    // relative_buckets (T5): number of buckets
    int64_t max_distance = 128;  // relative_buckets: distances from this one on share the last bucket
    bool operator==(const Positions&) const = default;
  } positions;

  struct Embedding {
    int64_t width = 0;  // width of token embeddings, projected to `hidden` and back; 0: hidden
    /// `width`: positions and token types are of that width, too, and a map with a bias follows them, and the
    /// head ends in that width; false: a map without bias follows the tokens, and another precedes the head.
    bool projected_last = false;
    bool always_projected = false;  // `projected_last`: the map is there even if `width` is `hidden`
    bool scaled = false;            // embeddings are multiplied by hidden^1/2
    double factor = 1;              // token embeddings are multiplied by it
    bool frozen_padding = false;    // lookups of tokens.pad contribute no gradient to its row
    bool shared = true;             // encoder and decoder use one token table
    int64_t token_types = 0;        // number of token types; 0: the model has none
    int64_t image_size = 0;         // image models: pixels of one side; 0: the model reads tokens
    int64_t patch_size = 0;         // image models: pixels of one side of a patch
    int64_t channels = 0;           // image models: channels of a pixel
    bool class_token = false;       // image models: a learned token before the patches
    bool second_token = false;      // image models: a second one after class_token, for distillation
    bool operator==(const Embedding&) const = default;
  } embedding;

  struct Dropout {
    double embedding = 0;   // probability after the embeddings
    double residual = 0;    // probability for the outputs of attention and of the feed-forward layer
    double attention = 0;   // probability for attention weights
    double activation = 0;  // probability after the activation of the feed-forward layer
    double classifier = 0;  // probability before a classification head
    double block = 0;       // probability that a step leaves a block out (Fan et al., LayerDrop, 2020)
    bool operator==(const Dropout&) const = default;
  } dropout;

  struct Head {
    HeadKind kind = HeadKind::lm;
    bool tied = true;     // the weight is the token table
    bool bias = false;    // the head has a bias
    bool offset = false;  // an untrained vector of the checkpoint is added to the logits
    bool scaled = false;  // the head's input is multiplied by hidden^-1/2
    double factor = 1;    // logits are multiplied by it
    double divisor = 1;   // logits are divided by it
    double soft_cap = 0;  // logits x become cap tanh(x / cap); 0: there is no cap
    bool pooler = false;  // a linear map and tanh of the first token, before the classes
    bool dense = false;   // a linear map before the classes, of the first token or of the pooler's result
    Activation dense_activation = Activation::tanh;  // of the result of `dense`
    bool dense_dropout = false;                      // dropout.classifier also applies before `dense`
    int64_t classes = 0;                             // number of classes of a classification head
    Problem problem = Problem::one_class;            // complete() sets regression if there is one class
    bool operator==(const Head&) const = default;
  } head;

  struct Criterion {
    double label_smoothing = 0;  // alpha: share of the target that is spread over classes
    Smoothing smoothing = Smoothing::all;
    int64_t ignore_index = -100;  // targets with this label add no loss
    bool operator==(const Criterion&) const = default;
  } criterion;

  struct Init {
    double deviation = 0.02;  // standard deviation of weights; biases start at 0, norms at 1
    /// For projections into the residual stream, the deviation is multiplied by (2 layers)^-1/2.
    bool scale_residual = false;
    bool operator==(const Init&) const = default;
  } init;

  struct Tokens {
    int64_t bos = -1;            // first token of a text; -1: there is none
    int64_t pad = -1;            // padding; -1: there is none
    int64_t decoder_start = -1;  // first input of a decoder with an encoder; -1: there is none
    bool last_starts = false;    // in training, that input is the row's last label instead
    int64_t forced_bos = -1;     // first new token of generation; -1: any
    int64_t forced_eos = -1;     // last token at the maximal length; -1: any
    std::vector<int64_t> eos;    // end tokens; empty: there is none
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

/// Replaces default values that mean "derived from other fields", such as 0 or `automatic`, by the derived
/// values.
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
