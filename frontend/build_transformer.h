// From a TransformerSpec to the forward graphs of a Module.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/lora_config.h"
#include "frontend/transformer_spec.h"
#include "ir/graph.h"

namespace smelt {

struct BuildOptions {
  /// Of the ranks that run the model together: those along the axis "model" share its parameters and caches
  /// (frontend/tensor_parallel.h).
  Mesh mesh = {};
  /// Upper bounds of symbols and products of them. B (batch) and T (length) have defaults: 8, and the model's
  /// own maximum or 512.
  std::vector<Symbols::Bound> bounds = {};
  /// Replaces every dropout probability of the spec.
  std::optional<double> dropout = std::nullopt;
  bool training = true;        // @loss and @evaluate; false leaves @logits alone, for generation
  bool hidden_states = false;  // @logits also gives last_hidden_state, pooler_output, hidden.0 ... hidden.N
  /// Whether there is an input attention_mask; where nothing is said, models with an encoder have one.
  std::optional<bool> attention_mask = std::nullopt;
  bool position_ids = false;  // an input of that name: where each token stands
  bool segment_ids = false;   // an input of that name: rows hold documents one behind the other
  /// Whether there are the entries that keep keys and values (below); nothing: where the model generates and
  /// no other option stands against them.
  std::optional<bool> caches = false;
  DType cache_type = DType::f32;  // of the keys and values that are kept
  /// With caches: whether there is @next or @next_pages, which need no host between two tokens; nothing: no.
  std::optional<bool> chooses_tokens = std::nullopt;
  /// With caches, of a decoder alone: pages of kPageTokens tokens that they have in place of a row of T
  /// tokens for each of B; 0: none.
  int64_t cache_pages = 0;
  /// Adapters beside the linear maps that it targets; all else but what it says is frozen then.
  std::optional<LoraConfig> lora = std::nullopt;
};

/// Graphs
///   @loss      with dropout: loss_sum, token_count (f32[])
///   @evaluate  the same without dropout
///   @logits    logits; of a model without a head last_hidden_state and, with a pooler, pooler_output;
///              where asked for hidden.0 (embeddings), hidden.i (after block i), hidden.N (the last one,
///              after the final norm), and encoder_hidden.i of an encoder before a decoder
/// and, with caches of as many rows and tokens as B, T and S may have:
///   @encode    reads a batch of sources and keeps what the decoder's cross attention needs; source_length
///   @decode    reads tokens behind the past_length[b] ones that each row has read before, keeps their keys
///              and values, and gives the last one's logits [B,V]; the rows of a batch are the caches' first
///              B. Where a block has a window, its keys and values may be in rings
///              (frontend/symbol_bounds.h): a run then has up to R tokens, and past_length[b] may be less
///              than what the caches have had of a row, padding included, by less than R
///   @next      reads one token a row, chooses the next one and leaves it to its next run, in the states of
///              runtime/generation/token_states.h; rows
///   @next_beams  the same of a beam search: the best continuations of N sentences of K beams, and the beams
///              that go on
///   @next_guided, @next_beams_guided   the same by scores that options change by what stands in the
///              text, the tokens of which are in states of their own
///   @reorder   what row from[b] of the caches has at places[t] becomes row to[b]'s: beams, and batches that
///              shrink; rows_moved
///   @reorder_sources   the same of what @encode keeps, at places[s]
/// or, where the caches are in pages,
///   @read_pages, @decode_pages   keep the tokens of one row ([1,T]), and, the second, give the last one's
///              logits [1,V]
///   @step_pages  reads one token of each row ([B,1]); logits [B,V]
///   @next_pages, @begin_pages   in its place where tokens are chosen: the same, which also chooses the next
///              tokens as @next does, each row in its slot of the states; and gives one slot the biases and
///              penalties that its next row's tokens are chosen by
/// over inputs, i32 if nothing else is said:
///   input_ids          [B,T], or [B,S] before a decoder; [B,R] of @decode where there are rings
///   pixel_values       f32[B,channels,size,size] in place of ids
///   attention_mask     as input_ids, 0 for padding; optional: all 1
///   token_type_ids     as input_ids; optional: all 0
///   position_ids       as input_ids, -1 for a token's place in its row; optional: all -1
///   segment_ids        as input_ids: tokens see those of the same number alone, and a decoder is taught no
///                      label behind the end of a segment; optional: all 0
///   decoder_input_ids  [B,T], of @logits; in @loss it is the labels, shifted to the right
///   pages              [B,P], P = ceil(T / kPageTokens): where the tokens of each row lie; no run writes
///                      beyond these, and any page stands for one that is not needed yet
///   past_length, from, to   [B], and places [T] or [S]
///   lengths            [B]: how many of the T tokens are the row's own, the others are padding behind them;
///                      -1, and where it is not given: all
///   slots              [B], of @next_pages, where the input_ids of -1 stand for what a row's last run has
///                      chosen: where in the states each row is, no two in one
///   slot, bias, penalties   [1] and f32[1,V] twice, of @begin_pages: what is added to the scores of
///                      words, and as `penalty` for each of them; 0 of one that has not come
///   numbers, integers  f32[B,3] and [B,4], of @next: temperature (0: greedy), top_p, min_p; top_k, seed,
///                      unused, index of the sequence, as runtime/generation/sampling.h takes them
///   penalty            f32[B]: what later scores of a chosen token are divided by, or multiplied where they
///                      are negative
///   held_back, held_back_until, forced, forced_at
///                      [B,16] and [B,2]: tokens that may not come before, and that come at, these places in
///                      their row (-1: none)
///   beams, ends        [N,K], whose numbers say nothing, and [N,16]: the tokens that end a sentence
///                      (-1: none); of @next_beams and @next_beams_guided, whose other inputs of rows have
///                      N K of them
///   text_places, text_numbers, text_integers, end_growth, biased_before, biased_last, biases, biased_with,
///   banned_before, banned_last
///                      of @next_guided and @next_beams_guided, in place of penalty, held_back and forced:
///                      frontend/blocks/guided_scores.h has their shapes
///   labels             [B,T]; [B] of models that classify, or f32 [B] or [B,classes] as head.problem says
/// A decoder alone is taught to write label t + 1 at position t. Throws one Error with all parts of the spec
/// that cannot be built.
std::unique_ptr<Module> build_transformer(const TransformerSpec& spec, const BuildOptions& options);

/// Whether build_transformer makes the entries with caches.
bool keeps_caches(const TransformerSpec& spec, const BuildOptions& options);

/// What a host needs to know of the model without the frontend, as JSON; becomes Module::description and
/// Plan::model:
///   family, vocab_size, max_positions, bos_token_id, pad_token_id, decoder_start_token_id (or null),
///   eos_token_id (a list), ignore_index, tokenizer ("bytes" or "none"), head_tied, ignored_tensors
///   (checkpoint tensors to pass over, {} is a number), spec, config (an object for config.json, or null),
///   generation (generation_config.json's object)
Json describe_model(const TransformerSpec& spec, const Json& config, const Json& generation);

}  // namespace smelt
