// Interface of a plan that generates text with caches of keys and values: the features of its entries, and
// the sizes of its caches.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/plan/decode_contract.h"

namespace smelt {

/// Location of a row's tokens in the caches:
///   none   the plan does not generate text with caches
///   slots  each row has a slot, with one position per token
///   rings  as `slots`, but in layers with a sliding window the slot is a ring, which has fewer positions: in
///          a ring of n positions, token t is at position t modulo n
///   pages  each row has a list of pages, which have a fixed number of positions
enum class CacheAddressing : uint8_t { none, slots, rings, pages };

/// Samplers that a plan has. A sampler is an entry that reads one token per row and chooses the next one.
/// `tokens`: the entry next or next_pages, which samples. `beams`: next_beams, which does a beam search.
/// `tokens_by_text` and `beams_by_text`: next_guided and next_beams_guided, which also support settings that
/// depend on the text so far, such as n-grams that may not repeat. `allowed_tokens`: sample_allowed, which
/// samples among the tokens that the host allows.
struct PlanSamplers {
  bool allowed_tokens = false;
  bool tokens = false, tokens_by_text = false, beams = false, beams_by_text = false;
};

/// Features and sizes of a plan's entries for generation.
struct DecodeInterface {
  /// Derives the interface. If the plan lacks the entries for generation, addressing is `none` and all sizes
  /// are 0. Throws Error (invalid_file) if the plan has these entries, but an entry or a state is not as
  /// decode_contract.def specifies. The message names the entry and the input, output or state.
  explicit DecodeInterface(const Plan& plan);

  CacheAddressing addressing = CacheAddressing::none;
  PlanSamplers samplers;
  bool reads_source = false;  // the plan has an encoder: its entry encode reads the source
  /// The plan has an entry that reads any number of tokens of several rows: mixed_pages or tiled_pages.
  bool mixes_rows = false;
  /// True if the entry of mixes_rows is tiled_pages. The plan then also has next_pages, which reads one token
  /// of each row.
  bool tiles_prompts = false;
  bool has_next_row = false;  // tiles_prompts, and the plan has next_row
  bool masks_source = false;  // the sources of a run may have different lengths

  bool in_rows() const {
    return addressing == CacheAddressing::slots || addressing == CacheAddressing::rings;
  }
  bool in_pages() const { return addressing == CacheAddressing::pages; }

  size_t vocabulary = 0;       // scores per row
  size_t rows = 0;             // largest number of rows per run
  size_t capacity = 0;         // largest number of tokens per row
  size_t run_tokens = 0;       // most tokens that a run reads of one row; if mixes_rows, of all rows
  size_t ring = 0;             // positions of the shortest ring; 0: there is none
  size_t source_capacity = 0;  // largest number of tokens per source
  /// Tokens per row of the states text_tokens and text_source; 0: the plan does not have the state.
  size_t text_capacity = 0, source_text_capacity = 0;
  size_t adapters = 0;  // slots for adapters (adapter_interface.h), of which each row of a run selects one
  size_t pages = 0, row_pages = 0;  // pages of the caches, and the largest number of pages per row
  /// Names of the symbols for the numbers of rows, tokens per row and tokens per source of a run. Empty if
  /// the number is not a symbol.
  std::string rows_symbol, run_symbol, source_symbol;

 private:
  void derive_rows(const Plan& plan);
  void derive_pages(const Plan& plan);
};

}  // namespace smelt
