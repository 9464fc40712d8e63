// Any bytes as a JSON Schema, an expression, a grammar or the body of a request: an Error, or an automaton
// whose prefixes have an end.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/structured/gbnf.h"
#include "runtime/structured/json_schema.h"
#include "runtime/structured/matcher.h"
#include "runtime/structured/regex.h"
#include "runtime/structured/specification.h"
#include "runtime/structured/token_masks.h"
#include "runtime/system/json_text.h"

namespace smelt::structured {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

Grammar grammar_of(uint8_t kind, std::string_view text) {
  SchemaOptions options;
  options.layout.most_whitespace = kind % 8 == 7 ? 3 : 0;
  if (kind % 3 == 0) return regex_grammar(text);
  return kind % 3 == 1 ? parse_gbnf(text) : json_schema_grammar(parse_ordered_json(text, "fuzz"), options);
}

std::shared_ptr<const Automaton> automaton_of(uint8_t kind, std::string_view text) {
  constexpr uint8_t kBody = 128;
  if (kind < kBody) return compile(grammar_of(kind, text));
  auto body = parse_ordered_json(text, "fuzz");
  if (!body.is_object()) fail("no body");
  const auto specification = take_specification(body);
  return compile(specification ? *specification : Specification{});
}

/// Follows allowed tokens that `choices` selects. Masks and matchers must agree.
void follow(const std::shared_ptr<const Automaton>& automaton, std::string_view choices) {
  std::vector<std::string> vocabulary;
  for (int b = 0; b < 256; ++b) vocabulary.emplace_back(1, static_cast<char>(b));
  vocabulary.insert(vocabulary.end(), {"\",\"", "[[", "]]", "{\"", "ab", "10", "\":"});
  TokenMasks masks(automaton, std::make_shared<TokenTrie>(vocabulary), {});
  std::vector<uint64_t> mask(masks.words()), expected(masks.words());
  Matcher matcher(automaton);
  for (const char choice : choices.substr(0, 24)) {
    masks.mask(matcher, mask);
    mask_by_tokens(matcher, vocabulary, expected);
    require(mask == expected);
    std::vector<size_t> ids;
    for (size_t id = 0; id < vocabulary.size(); ++id)
      if (mask[id / 64] >> id % 64 & 1) ids.push_back(id);
    require(!ids.empty() || matcher.can_end());
    if (ids.empty()) return;
    require(matcher.advance(vocabulary[ids[static_cast<uint8_t>(choice) % ids.size()]]));
  }
}

}  // namespace
}  // namespace smelt::structured

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt::structured;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    follow(automaton_of(data[0], text), text);
  } catch (const smelt::Error&) {
    // Refused texts, and grammars that are too ambiguous.
  }
  return 0;
}
