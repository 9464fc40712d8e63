// Interface of a plan that generates text over caches: what its entries can do, and the sizes of its caches.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/plan/decode_contract.h"

namespace smelt {

/// Location of a row's tokens in the caches: one slot of them with a position per token; the same, but with
/// rings of fewer positions for blocks with a window, where token t is at position t modulo their number; or
/// a list of pages.
enum class CacheAddressing : uint8_t { none, slots, rings, pages };

/// Samplers of a plan: entries that read one token per row and choose the next, by single tokens alone or by
/// the text.
struct PlanSamplers {
  bool tokens = false, tokens_by_text = false, beams = false, beams_by_text = false;
};

struct DecodeInterface {
  /// Derives the interface. Throws Error (invalid_file) if the plan has entries for generation and one of
  /// them, or a state, is not as decode_contract.def says: the message names entry and port, what was
  /// expected and what to do. Without such entries, addressing is `none` and all sizes are 0.
  explicit DecodeInterface(const Plan& plan);

  CacheAddressing addressing = CacheAddressing::none;
  PlanSamplers samplers;
  bool reads_source = false;  // an encoder's, by encode
  bool masks_source = false;  // sources of a run may have different lengths

  bool in_rows() const {
    return addressing == CacheAddressing::slots || addressing == CacheAddressing::rings;
  }
  bool in_pages() const { return addressing == CacheAddressing::pages; }

  size_t vocabulary = 0;
  size_t rows = 0;                                     // of a run, at most
  size_t capacity = 0;                                 // tokens of a row
  size_t run_tokens = 0;                               // tokens per row of a run, at most
  size_t ring = 0;                                     // positions of the shortest ring; 0: there is none
  size_t source_capacity = 0;                          // tokens of a source
  size_t text_capacity = 0, source_text_capacity = 0;  // tokens of the states text_tokens and text_source
  size_t pages = 0, row_pages = 0;                     // of the caches, and of a row
  /// Symbols of the rows, the tokens per row and the tokens per source of a run; empty: they are no symbols.
  std::string rows_symbol, run_symbol, source_symbol;

 private:
  void derive_rows(const Plan& plan);
  void derive_pages(const Plan& plan);
};

}  // namespace smelt
