// Builds the forward graphs of a Module from a TransformerSpec.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/lora_config.h"
#include "frontend/transformer_spec.h"
#include "ir/graph/graph.h"

namespace smelt {

struct BuildOptions {
  /// Mesh of the ranks that run the model together: those along the axis "model" share its parameters and
  /// caches (frontend/tensor_parallel.h).
  Mesh mesh = {};
  /// Upper bounds of symbols and products of them. B (batch) and T (length) have defaults: 8, and the model's
  /// own maximum or 512.
  std::vector<Symbols::Bound> bounds = {};
  /// Replaces every dropout probability of the spec.
  std::optional<double> dropout = std::nullopt;
  bool training = true;        // @loss and @evaluate; false leaves @logits alone, for generation
  bool hidden_states = false;  // @logits also gives last_hidden_state, pooler_output, hidden.0 ... hidden.N
  /// True: an input attention_mask exists; by default models with an encoder have one.
  std::optional<bool> attention_mask = std::nullopt;
  bool position_ids = false;  // an input of that name: the position of each token
  bool segment_ids = false;   // an input of that name: rows hold consecutive documents
  /// True: the entries with caches (below) exist; by default they exist if the model generates and no other
  /// option excludes them.
  std::optional<bool> caches = false;
  DType cache_type = DType::f32;  // of cached keys and values
  /// With caches, true: @next or @next_pages exists, which needs no host between two tokens; by default: no.
  std::optional<bool> chooses_tokens = std::nullopt;
  /// With caches, for a decoder alone: number of pages of kPageTokens tokens, instead of a row of T tokens
  /// for each of B; 0: no pages.
  int64_t cache_pages = 0;
  /// Adapters that are added to the linear maps that it targets; all parameters are then frozen except those
  /// that it trains.
  std::optional<LoraConfig> lora = std::nullopt;
};

/// Builds the graphs
///   @loss      with dropout: loss_sum, token_count (f32[])
///   @evaluate  the same without dropout
///   @logits    logits; for a model without a head last_hidden_state and, with a pooler, pooler_output;
///              on request hidden.0 (embeddings), hidden.i (after block i), hidden.N (the last one,
///              after the final norm), and encoder_hidden.i of an encoder before a decoder
/// and, with caches of as many rows and tokens as B, T and S may have:
///   @encode    reads a batch of sources and caches keys and values for the decoder's cross attention;
///              source_length
///   @decode    reads tokens after the past_length[b] ones that each row has read before, caches their keys
///              and values, and returns the last one's logits [B,V]; the rows of a batch are the first B
///              rows of the caches. If a block has a window, its keys and values may be in rings
///              (frontend/symbol_bounds.h): a run then has up to R tokens, and past_length[b] may be less
///              than the number of cached tokens of a row, padding included, by less than R
///   @next      reads one token per row, samples the next one and stores it for its next run, in the states
///              of runtime/engine/generation/token_states.h; rows
///   @next_beams  the same for a beam search: the best continuations of N sentences of K beams, and the
///              continued beams
///   @next_guided, @next_beams_guided   the same with scores that options change by the text, whose tokens
///              are in separate states
///   @reorder   copies row from[b] of the caches at places[t] to row to[b]: beams, and batches that
///              shrink; rows_moved
///   @reorder_sources   the same for the caches of @encode, at places[s]
/// or, if the caches are in pages,
///   @read_pages, @decode_pages   cache the tokens of one row ([1,T]); the second also returns the last one's
///              logits [1,V]
///   @step_pages  reads one token of each row ([B,1]); logits [B,V]
///   @next_pages, @begin_pages   instead of @step_pages, if tokens are sampled: the same, and samples the
///              next tokens as @next does, each row in its slot of the states; @begin_pages gives one slot
///              the biases and penalties for sampling its next row's tokens
/// over inputs, i32 by default:
///   input_ids          [B,T], or [B,S] before a decoder; [B,R] of @decode with rings
///   pixel_values       f32[B,channels,size,size] instead of ids
///   attention_mask     as input_ids, 0 for padding; optional: all 1
///   token_type_ids     as input_ids; optional: all 0
///   position_ids       as input_ids, -1 for a token's position in its row; optional: all -1
///   segment_ids        as input_ids: tokens see those of the same number alone, and a decoder is taught no
///                      label after the end of a segment; optional: all 0
///   decoder_input_ids  [B,T], of @logits; in @loss it is the labels, shifted to the right
///   pages              [B,P], P = ceil(T / kPageTokens): the pages of the tokens of each row; no run writes
///                      to other pages, and a page that is not needed yet may have any number
///   past_length, from, to   [B], and places [T] or [S]
///   lengths            [B]: how many of the T tokens are the row's own; padding follows them;
///                      -1, and by default: all
///   slots              [B], of @next_pages, where an input_id of -1 means the token that the row's last run
///                      sampled: the slot of each row in the states, all different
///   slot, bias, penalties   [1] and f32[1,V] twice, of @begin_pages: addends to the scores of words, and
///                      per word its `penalty`; 0 for a word that has not occurred
///   numbers, integers  f32[B,3] and [B,4], of @next: temperature (0: greedy), top_p, min_p; top_k, seed,
///                      unused, index of the sequence, as in runtime/engine/generation/sampling.h
///   penalty            f32[B]: divisor of later scores of a sampled token, or factor if they are negative
///   held_back, held_back_until, forced, forced_at
///                      [B,16] and [B,2]: tokens that are forbidden before, and forced at, these positions
///                      in their row (-1: none)
///   beams, ends        [N,K], of which only the shape is used, and [N,16]: the tokens that end a sentence
///                      (-1: none); of @next_beams and @next_beams_guided, whose other inputs of rows have
///                      N K of them
///   text_places, text_numbers, text_integers, end_growth, biased_before, biased_last, biases, biased_with,
///   banned_before, banned_last
///                      of @next_guided and @next_beams_guided, instead of penalty, held_back and forced:
///                      frontend/blocks/guided_scores.h has their shapes
///   labels             [B,T]; [B] of models that classify, or f32 [B] or [B,classes] by head.problem
/// A decoder alone is trained to predict label t + 1 at position t. Throws one Error with all parts of the
/// spec that cannot be built.
std::unique_ptr<Module> build_transformer(const TransformerSpec& spec, const BuildOptions& options);

/// Returns whether build_transformer makes the entries with caches.
bool keeps_caches(const TransformerSpec& spec, const BuildOptions& options);

/// Describes the model for hosts without the frontend, as JSON; becomes Module::description and Plan::model:
///   family, vocab_size, max_positions, bos_token_id, pad_token_id, decoder_start_token_id (or null),
///   eos_token_id (a list), ignore_index, tokenizer ("bytes" or "none"), head_tied, ignored_tensors
///   (checkpoint tensors to ignore, {} is a number), spec, config (an object for config.json, or null),
///   generation (generation_config.json's object)
Json describe_model(const TransformerSpec& spec, const Json& config, const Json& generation);

}  // namespace smelt
