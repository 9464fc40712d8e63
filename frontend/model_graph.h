// ModelGraph: builder of one graph of a model. It builds the entries @loss, @evaluate and @logits, which read
// whole sequences. A derived class builds the entries with caches (cached_graphs.cpp). A stack is the encoder
// or the decoder. In shapes, B is the batch size and T the length of the sequences.
#pragma once

#include <string>
#include <vector>

#include "frontend/blocks/blocks.h"
#include "frontend/build_transformer.h"

namespace smelt {

/// One graph under construction. Requires: exactly one of the functions add_...() is called, once.
class ModelGraph {
 public:
  /// Adds an empty graph `name` to the module. `adapters`: null if the model has none. `dropout`: the
  /// probabilities in this graph. The adapters have dropout only if `name` is "loss".
  ModelGraph(Module& module, const TransformerSpec& spec, const BuildOptions& options, Adapters* adapters,
             const char* name, TransformerSpec::Dropout dropout);

  /// Adds the inputs and nodes of @loss or @evaluate, which return loss_sum and token_count.
  void add_loss();
  /// Adds the inputs and nodes of @logits.
  void add_logits();

 protected:
  Value* input(std::string name, Type type);
  Value* input(std::string name, Shape shape);  // i32
  /// Adds an i32 input that a caller may omit; all its elements are then `fill`.
  Value* optional_input(std::string name, Shape shape, double fill);
  /// Adds the inputs of the first stack: the encoder, or the decoder if there is no encoder. If there is an
  /// encoder, also adds its nodes. Sets ids_, mask_ and last_.
  void read_sources();
  /// Adds the nodes of the decoder `stack` for the tokens `ids` i32[B,T]; sets last_.
  void decode(Stack& stack, Value* ids);

  const TransformerSpec& spec_;
  const BuildOptions& options_;
  BlockBuilder b_;
  Dim batch_ = Dim::symbol("B");
  Dim length_ = Dim::symbol("T");
  Dim choices_ = Dim::symbol("C");  // texts of a record, of which one is chosen
  /// Token ids and attention mask of the first stack. ids_ is null if that stack reads images; mask_ is null
  /// if there is no mask.
  Value *ids_ = nullptr, *mask_ = nullptr;
  Value* last_ = nullptr;  // last hidden state of the last stack so far; null: none yet

 private:
  bool masked() const;
  Type type_of_labels(const LogitsPort& port) const;
  LossOutputs loss_of(llvm::ArrayRef<Value*> labels);
  /// Returns the targets of logits of tokens.
  Value* token_targets(Value* labels);
  std::vector<Value*> head_logits();
  /// [B,length], or [B,C,length] if one of C texts is chosen.
  Shape shape_of_texts(const Dim& length) const;
  /// Returns [B * C,length] for [B,C,length], and a matrix as it is.
  Value* as_rows(Value* texts);
  Value* given_positions(const Dim& length);
  void encode(const Dim& length);
  void encode_image();
  void decode(Value* ids);
  void output_all(std::string_view name, const std::vector<Value*>& values);

  Value *position_ids_ = nullptr, *segments_ = nullptr;
  std::vector<Value*> encoder_hidden_, hidden_;  // outputs: hidden states of the blocks
};

}  // namespace smelt
