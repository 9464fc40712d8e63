// Names of a model's parameters and modules, which depend on its family. build_transformer identifies a
// module by its role, which is the same for all families.
//
// Roles ({}: number of the block; STACK: encoder or decoder). A role that begins with a dot follows
// "STACK.{}", and other braces list alternatives. For example, .ffn.{up,down} stands for decoder.{}.ffn.up,
// decoder.{}.ffn.down, encoder.{}.ffn.up and encoder.{}.ffn.down.
//   embedding.tokens  embedding.token_types  embedding.dropout
//   STACK.tokens (if not shared by both stacks)  STACK.positions  STACK.distances  STACK.embedding_norm
//   STACK.patches  STACK.class_token  STACK.norm  STACK.project_in  STACK.project_out
//   STACK.{}  .norm_1  .attention  .attention.{qkv,query,key,value,out,query_norm,key_norm}  .post_norm_1
//     .norm_2  .ffn  .ffn.{up,down}, or .ffn.{gate,gated,down}  .post_norm_2
//     .norm_cross  .cross  .cross.{query,key,value,out}  .post_norm_cross  (if a decoder reads an encoder)
//   pooler  classifier.dense  classifier  token_classifier  spans  choices  next_sentence  head  head.offset
//   mlm (bias of a masked language model's head with tied weight)  mlm.decoder  mlm.transform  mlm.norm
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/families/families.h"

namespace smelt {

/// Module of the model: a role and, inside a block, the block's number.
struct Place {
  std::string role;
  int64_t block = 0;  // replaces {} in `role`
};

/// Names of one parameter.
struct ParameterName {
  std::string name;                           // in the IR: as in Hugging Face's model
  std::vector<std::string> checkpoint_names;  // all accepted names; the first one is written
  bool transposed = false;                    // the weight is [in,out] in checkpoints
};

/// Roles of all heads: those of the pretraining, and those of tasks.
inline constexpr const char* kHeadRoles[] = {"head",        "head.offset",      "mlm",
                                             "mlm.decoder", "mlm.transform",    "mlm.norm",
                                             "classifier",  "classifier.dense", "token_classifier",
                                             "spans",       "choices",          "next_sentence"};

/// Names of the parameters and modules of one model.
class ParameterNames {
 public:
  explicit ParameterNames(const TransformerSpec& spec) : family_(find_family(spec.family)) {}

  /// Returns the names of a module's parameter. `kind` is "weight" or "bias".
  ParameterName parameter(const Place& place, std::string_view kind) const;
  /// Returns the name of the module for messages: "h.3.ln_1".
  std::string source(const Place& place) const;

 private:
  const NameRow* find(std::string_view role) const;
  const Family* family_;  // null: the roles are the names
};

}  // namespace smelt
