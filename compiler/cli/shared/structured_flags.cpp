#include "compiler/cli/shared/structured_flags.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

using structured::Specification;
using structured::SpecificationKind;

/// Returns the text of a file of a specification.
std::string specification_text(const char* flag, const std::string& path) {
  std::error_code unknown;
  if (const auto size = std::filesystem::file_size(path, unknown);
      !unknown && size > structured::kMostSpecificationBytes)
    fail("{} {}: {} bytes; expected at most {}", flag, path, size, structured::kMostSpecificationBytes);
  return read_text_file(path);
}

}  // namespace

void StructuredFlags::add_to(CLI::App& app) {
  CLI::Option* schema =
      app.add_option("--json-schema", json_schema_,
                     "file of a JSON Schema that each result satisfies (docs/guides/structured_output.md)")
          ->type_name("FILE");
  CLI::Option* regex = app.add_option("--regex", regex_, "regular expression that each whole result matches")
                           ->excludes(schema);
  app.add_option("--grammar", grammar_, "file of a grammar (GBNF) of the results")
      ->type_name("FILE")
      ->excludes(schema)
      ->excludes(regex);
}

std::string StructuredFlags::name() const {
  if (!json_schema_.empty()) return "--json-schema";
  if (!regex_.empty()) return "--regex";
  return grammar_.empty() ? "" : "--grammar";
}

std::optional<Specification> StructuredFlags::specification() const {
  Specification result;
  result.member = name();
  if (!json_schema_.empty())
    result.kind = SpecificationKind::json_schema,
    result.text = specification_text("--json-schema", json_schema_);
  else if (!regex_.empty())
    result.kind = SpecificationKind::regex, result.text = regex_;
  else if (!grammar_.empty())
    result.kind = SpecificationKind::grammar, result.text = specification_text("--grammar", grammar_);
  else
    return std::nullopt;
  return result;
}

std::shared_ptr<structured::Constraint> StructuredFlags::constraint(const PromptText& texts) const {
  const auto specification = this->specification();
  if (!specification) return nullptr;
  if (!texts.known())
    fail("{}: the model has no tokenizer, so its tokens have no texts; expected tokenizer.json beside it",
         name());
  auto tokens = std::make_shared<const structured::ConstraintTokens>(texts.token_bytes());
  return std::make_shared<structured::Constraint>(structured::compile(*specification), std::move(tokens));
}

std::shared_ptr<structured::ConstrainedText> constrained_after(
    const std::shared_ptr<structured::Constraint>& constraint, const std::vector<int32_t>& prompt,
    const std::vector<int32_t>& end_tokens) {
  if (!constraint) return nullptr;
  const structured::ConstraintTokens& tokens = *constraint->tokens();
  const bool follows_text = std::ranges::any_of(prompt, [&](int32_t token) {
    return static_cast<size_t>(token) < tokens.count() &&
           !tokens.texts.bytes[static_cast<size_t>(token)].empty();
  });
  return std::make_shared<structured::ConstrainedText>(constraint, end_tokens, follows_text);
}

}  // namespace smelt::cli
