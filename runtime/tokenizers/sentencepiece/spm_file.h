// SentencePiece's model files: a protocol buffer of pieces and rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct SpmPiece {
  enum Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  std::string text;
  float score = 0;
  Type type = normal;
};

struct SpmFile {
  std::vector<SpmPiece> pieces;  // by id
  enum ModelType { unigram = 1, bpe = 2, word = 3, character = 4 } model_type = unigram;
  bool treat_whitespace_as_suffix = false, byte_fallback = false;
  std::string charsmap;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;

  /// Returns the id of the first piece of a type; -1 where there is none.
  int32_t first(SpmPiece::Type type) const;
};

/// Throws Error (invalid_file) with `file` and the byte if the bytes are no such model.
SpmFile parse_spm(std::string_view bytes, std::string_view file);

}  // namespace smelt
