// Graph of a model under construction: its inputs, its stacks, and the entries over whole sequences.
#pragma once

#include <string>
#include <vector>

#include "frontend/blocks/blocks.h"
#include "frontend/build_transformer.h"

namespace smelt {

class ModelGraph {
 public:
  /// Adds a graph of this name to the module. `adapters` may be null; @loss alone drops their inputs.
  ModelGraph(Module& module, const TransformerSpec& spec, const BuildOptions& options, Adapters* adapters,
             const char* name, TransformerSpec::Dropout dropout);

  void add_loss();
  void add_logits();

 protected:
  Value* input(std::string name, Type type);
  Value* input(std::string name, Shape shape);
  /// Adds an optional input, which by default holds `fill` everywhere.
  Value* optional_input(std::string name, Shape shape, double fill);
  /// Adds the inputs of the first stack, and the encoder if there is one.
  void read_sources();
  void decode(Stack& stack, Value* ids);

  const TransformerSpec& spec_;
  const BuildOptions& options_;
  BlockBuilder b_;
  Dim batch_ = Dim::symbol("B");
  Dim length_ = Dim::symbol("T");
  Value *ids_ = nullptr, *mask_ = nullptr;
  Value* last_ = nullptr;  // the last hidden state of the last stack

 private:
  bool masked() const;
  Value* given_positions(const Dim& length);
  void encode(const Dim& length);
  void encode_image();
  void decode(Value* ids);
  void output_all(std::string_view name, const std::vector<Value*>& values);

  Value *position_ids_ = nullptr, *segments_ = nullptr, *labels_ = nullptr;
  std::vector<Value*> encoder_hidden_, hidden_;
};

}  // namespace smelt
