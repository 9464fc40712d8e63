// Serving of a model that reads whole texts, by `smelt serve`: which task it has, how it is compiled, and the
// batch and the service of its texts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"
#include "compiler/server/text_service.h"
#include "runtime/engine/serving/text_batch.h"

namespace smelt::cli {

/// Task of a served model: to generate text, to compute embeddings of texts, or to classify them.
enum class ServedTask : uint8_t { generate, embed, classify };
/// Names of the tasks for --task, with "auto" first.
inline const std::vector<std::string> kTaskNames = {"auto", "generate", "embed", "classify"};

/// Returns the task of an open model. `asked`: one of kTaskNames. If it is auto, a model with a head of
/// classes for texts classifies; an encoder without such a head, and a decoder whose directory has the file
/// modules.json, embeds; other models generate. A plan's task is that of its entries. Throws Error if the
/// model does not support the task.
ServedTask served_task(const Model& model, const std::string& asked);

/// The settings of a model that reads whole texts, as its directory and the command line specify them.
struct TextServing {
  ServedTask task = ServedTask::embed;
  SentenceModules modules;
  size_t step_tokens = 0;  // most tokens of a run; 0: as many as the plan supports
};

/// Options of the command line for whole texts.
struct TextFlags {
  std::string pooling;                 // --pooling; empty: as the directory says
  std::optional<int64_t> rows;         // --slots
  std::optional<int64_t> step_tokens;  // --step-tokens
};

/// Reads the settings. Throws Error if a file of the directory is not supported, or if --pooling contradicts
/// it.
TextServing read_text_serving(const Model& model, ServedTask task, const TextFlags& flags);

/// Changes the options of compilation. The plan then has one entry, which returns hidden states or scores of
/// classes. Sets the bound of the symbol T, the tokens of a text, and serving.step_tokens, the most tokens of
/// a run. Removes the head of a model that embeds. Throws Error if --step-tokens is less than the bound of T.
void compile_for_texts(Model& model, TextServing& serving, const TextFlags& flags, CompileOptions& options,
                       DefaultBounds& bounds);

/// Returns the batch of a compiled model. `most_waiting`: the most texts that wait or run. `prepares` is
/// TextBatchOptions::prepares.
std::unique_ptr<TextBatch> text_batch(const Model& model, Session& session, const TextServing& serving,
                                      size_t most_waiting, bool prepares);

/// Returns the description of the batch's results that the server needs.
server::TextModel text_model(const Model& model, const TextBatch& batch, const TextServing& serving);

}  // namespace smelt::cli
