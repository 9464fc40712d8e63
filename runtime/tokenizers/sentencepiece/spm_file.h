// Model files of SentencePiece: a protocol buffer with the pieces of a vocabulary and with options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// A token of the vocabulary. The values and the names of the types are those of SentencePiece.
struct SpmPiece {
  enum Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  std::string text;
  float score = 0;
  Type type = normal;
};

/// The contents of a model file that Smelt uses. The options have the names that they have in SentencePiece.
struct SpmFile {
  std::vector<SpmPiece> pieces;  // by id
  enum ModelType { unigram = 1, bpe = 2, word = 3, character = 4 } model_type = unigram;
  bool treat_whitespace_as_suffix = false, byte_fallback = false;
  std::string charsmap;  // normalization rules (normalizers/charsmap.h)
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;

  /// Returns the id of the first piece of a type; -1 if there is none.
  int32_t first(SpmPiece::Type type) const;
};

/// Parses the bytes of a model file. If the bytes are not a valid model file, throws Error (invalid_file)
/// with the name `file` and the position of the fault.
SpmFile parse_spm(std::string_view bytes, std::string_view file);

}  // namespace smelt
