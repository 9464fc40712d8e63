// Structured output on the command line: the texts of `smelt generate` satisfy a JSON Schema, a regular
// expression or a grammar (docs/guides/structured_output.md).
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "compiler/cli/shared/prompt_text.h"
#include "runtime/structured/constrained_text.h"
#include "runtime/structured/specification.h"

namespace smelt::cli {

/// The flags --json-schema, --regex and --grammar, of which at most one is given.
class StructuredFlags {
 public:
  void add_to(CLI::App& app);
  /// Returns the name of the given flag; empty: none.
  std::string name() const;
  /// Reads and compiles the specification. Returns null if no flag is given. Throws Error that names the flag
  /// if the specification is wrong or not supported, or if the tokens of the model have no texts.
  std::shared_ptr<structured::Constraint> constraint(const PromptText& texts) const;

 private:
  std::optional<structured::Specification> specification() const;

  std::string json_schema_, regex_, grammar_;
};

/// Returns the constrained text that follows a prompt.
std::shared_ptr<structured::ConstrainedText> constrained_after(
    const std::shared_ptr<structured::Constraint>& constraint, const std::vector<int32_t>& prompt,
    const std::vector<int32_t>& end_tokens);

}  // namespace smelt::cli
