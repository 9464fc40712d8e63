// Model architectures in GGUF files as tables: keys of the metadata and names of the tensors, with those of
// the same model in Hugging Face's form.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace smelt {

/// The key "<architecture>.<key>" and the field of config.json with the same value.
struct GgufField {
  std::string_view key, config;
};

/// A field of config.json that is true if the file has the tensor.
struct GgufSwitch {
  std::string_view config, tensor;
};

/// Names of one module without ".weight" or ".bias"; "{}" is the number of the block.
struct GgufName {
  std::string_view stored, name;
  /// rotary_queries, rotary_keys: a head's rows are pairs (r, r + d/2) one after another. transposed: the
  /// model's weight is the transpose. plus_one: the stored weight is the model's plus 1.
  enum Change : uint8_t { none, rotary_queries, rotary_keys, transposed, plus_one };
  Change change = none;
};

struct GgufArchitecture {
  std::string_view name, model_type;
  std::vector<GgufField> fields;
  std::vector<GgufSwitch> switches = {};
  std::vector<GgufName> names;
  std::string_view only_with = {};  // key that must be there for this entry; empty: none
};

/// Keys of any architecture that do not change the model, or that the readers use in other ways.
extern const std::vector<std::string_view> kOtherGgufKeys;

/// Returns all entries; the first one with the name and its key is that of a file.
const std::vector<GgufArchitecture>& gguf_architectures();

}  // namespace smelt
