// Import of a model directory that no family of the frontend reads, through PyTorch.
#pragma once

#include <filesystem>

namespace smelt::cli {

/// Graph that an import writes: one that computes outputs, or one that computes the loss of training.
enum class ImportedGraph : uint8_t { outputs, loss };

/// Writes the model of the Hugging Face directory `model` into `directory`, as a graph in text form with
/// weights and tokenizer, unless it has been written there before. This runs `python -m
/// smelt.transformers.convert` of the Python that SMELT_PYTHON names, or of python3. Returns `directory`.
/// Throws Error if there is no Python, or if it fails; its own message is then on standard error.
std::filesystem::path imported_model(const std::filesystem::path& model,
                                     const std::filesystem::path& directory, ImportedGraph graph);

}  // namespace smelt::cli
