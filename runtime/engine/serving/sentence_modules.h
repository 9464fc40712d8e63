// SentenceModules: what the library sentence-transformers computes from the hidden states of a text, and its
// settings for texts, as the files of a model directory specify them.
//
// Files that are read: modules.json, which lists the modules; config.json of each Pooling module; config.json
// and model.safetensors of each Dense module; sentence_bert_config.json, tokenizer_config.json and
// config_sentence_transformers.json. A module, a field or a value that is not supported is refused by name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/serving/pooling.h"

namespace smelt {

/// Functions after a linear map, with the names of their classes in PyTorch.
enum class DenseActivation : uint8_t { Identity, Tanh, Sigmoid, ReLU, GELU };
/// Returns the function of a class such as "torch.nn.modules.activation.Tanh"; nothing if it is not
/// supported.
std::optional<DenseActivation> find_dense_activation(const std::string& name);
/// Returns f(x).
float activated(DenseActivation f, float x);

/// One module after the pooling. It computes activation(weight x + bias) from a vector x, or divides x by its
/// length.
struct SentenceModule {
  bool normalizes = false;  // the module only divides by the length; the other members have no meaning
  size_t in = 0, out = 0;
  std::vector<float> weight = {}, bias = {};  // [out,in] and [out]; bias is empty if there is none
  DenseActivation activation = DenseActivation::Identity;
};

struct SentenceModules {
  std::vector<Pooling> pooling = {Pooling::mean};  // the results of all kinds are concatenated
  bool pools_prompt = true;                        // the tokens of a prompt are pooled, too
  std::vector<SentenceModule> rest = {};           // the modules after the pooling, except `normalizes`
  bool normalizes = false;                         // the last module makes vectors of length 1
  std::optional<size_t> most_tokens = {};          // longest text; nothing: no file has a limit
  bool lower_case = false;                         // texts are converted to lower case
  /// The model gets the tokenizer's token types; false: all types are 0, because model_input_names of
  /// tokenizer_config.json, or else of the tokenizer's class in transformers, does not list them.
  bool has_token_types = true;
  std::map<std::string, std::string> prompts = {};  // texts before a text, by name
  std::optional<std::string> default_prompt = {};   // a name in `prompts`
  std::optional<size_t> dimensions = {};            // vectors are truncated; nothing: they are not

  /// Returns the size of the vectors, without truncation, of a model with hidden states of size `hidden`.
  /// Throws Error if a module expects another size.
  size_t width(size_t hidden) const;
  /// Returns the vector of a text with the hidden states [tokens, hidden], before `normalizes` and
  /// `dimensions` are applied. The first `unpooled` tokens are left out of the pooling, but never the last
  /// token.
  std::vector<float> vector_of(std::span<const float> states, size_t hidden, size_t unpooled) const;
};

/// Reads the files of a model directory. If a file does not exist, the members that it would specify keep
/// their defaults. `reads_pooling`: false for a model whose head replaces pooling; modules other than
/// Transformer are then refused. Throws Error (invalid_file) naming the file and the fault.
SentenceModules read_sentence_modules(const std::filesystem::path& directory, bool reads_pooling);

}  // namespace smelt
