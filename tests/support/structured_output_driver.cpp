// A server of grammars on standard input and output, for tests/python/check_structured_output.py: one JSON
// request per line, one JSON reply per line.
//   {"compile": KIND, "text": ..., "whitespace": N}  KIND: schema, regex, gbnf, choices, object, value
//   {"match": TEXT}                                  whether TEXT is whole, and whether it is a prefix
//   {"vocabulary": [BASE64, ...] or PATH}            tokens, by id, before the end token; PATH: lines of
//   base64, id
//   {"walk": SEED, "steps": N}                       a text of random allowed tokens
//   {"time": TEXT}                                   microseconds of each mask of TEXT in longest tokens,
//   with the end
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>

#include "runtime/base/error.h"
#include "runtime/structured/constrained_text.h"
#include "runtime/structured/gbnf.h"
#include "runtime/structured/json_schema.h"
#include "runtime/structured/matcher.h"
#include "runtime/structured/regex.h"
#include "runtime/system/json_text.h"
#include "runtime/tokenizers/base64.h"

namespace smelt::structured {
namespace {

Grammar grammar_of(const nlohmann::ordered_json& request) {
  const std::string kind = request["compile"];
  SchemaOptions options;
  options.layout.most_whitespace = request.value("whitespace", 0u);
  if (kind == "object" || kind == "value") return json_value_grammar(options.layout, kind == "value");
  if (kind == "schema") return json_schema_grammar(request["text"], options);
  if (kind == "choices") return choice_grammar(request["text"].get<std::vector<std::string>>());
  const std::string text = request["text"];
  return kind == "regex" ? regex_grammar(text) : parse_gbnf(text);
}

class Driver {
 public:
  Json reply(const nlohmann::ordered_json& request) {
    if (request.contains("compile")) return compile_request(request);
    if (request.contains("match")) return match(request["match"]);
    if (request.contains("vocabulary")) return read_vocabulary(request["vocabulary"]);
    if (request.contains("walk")) return walk(request["walk"], request["steps"]);
    return time(request["time"]);
  }

 private:
  Json compile_request(const nlohmann::ordered_json& request) {
    const auto start = std::chrono::steady_clock::now();
    automaton_ = compile(grammar_of(request));
    constraint_ = tokens_ ? std::make_shared<Constraint>(automaton_, tokens_) : nullptr;
    return {{"states", automaton_->states.size()}, {"microseconds", since(start)}};
  }

  Json match(const std::string& text) const {
    Matcher matcher(automaton_);
    const bool is_prefix = matcher.advance(text);
    return {{"prefix", is_prefix}, {"whole", is_prefix && matcher.can_end()}};
  }

  Json read_vocabulary(const nlohmann::ordered_json& source) {
    TokenBytes tokens;
    if (source.is_string()) {
      std::ifstream file(source.get<std::string>());
      for (std::string token, id; file >> token >> id;) tokens.bytes.push_back(decode_base64(token).value());
    } else {
      for (const auto& token : source)
        tokens.bytes.push_back(decode_base64(token.get<std::string>()).value());
    }
    tokens.bytes.emplace_back();
    tokens_ = std::make_shared<const ConstraintTokens>(std::move(tokens));
    return {{"tokens", tokens_->count()}, {"nodes", tokens_->trie->count()}};
  }

  const std::string& bytes_of(int32_t id) const { return tokens_->texts.bytes[static_cast<size_t>(id)]; }
  int32_t end_token() const { return static_cast<int32_t>(tokens_->count() - 1); }
  static int64_t since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start)
        .count();
  }

  static bool is_allowed(const std::vector<uint32_t>& mask, int32_t id) {
    return (mask[static_cast<size_t>(id) / 32] >> id % 32 & 1) != 0;
  }

  std::vector<int32_t> allowed(ConstrainedText& text) const {
    std::vector<uint32_t> mask(text.words());
    text.fill(mask);
    std::vector<int32_t> ids;
    for (int32_t id = 0; id <= end_token(); ++id)
      if (is_allowed(mask, id)) ids.push_back(id);
    return ids;
  }

  bool closes(int32_t id) const {
    const std::string& bytes = bytes_of(id);
    return id == end_token() || bytes == "\"" || bytes == "]" || bytes == "}";
  }

  /// After `steps` tokens, prefers those that close strings, lists and objects.
  Json walk(uint32_t seed, size_t steps) const {
    std::mt19937 random(seed);
    ConstrainedText text(constraint_, {end_token()});
    std::string bytes;
    for (size_t step = 0; step < 20 * steps; ++step) {
      const std::vector<int32_t> ids = allowed(text);
      int32_t id = ids[random() % ids.size()];
      for (const int32_t other : ids)
        if (step > steps && closes(other)) id = other;
      const bool is_dead = id == end_token() && !text.can_end();
      if (is_dead || !text.advance(id)) return {{"text", bytes}, {"dead", true}};
      if (text.ended()) return {{"text", bytes}, {"steps", step}};
      bytes += bytes_of(id);
    }
    return {{"text", bytes}, {"unfinished", true}};
  }

  /// Returns the longest allowed token that the text has at a position; the end token if there is none.
  int32_t longest(const std::vector<uint32_t>& mask, std::string_view text) const {
    int32_t best = end_token();
    for (int32_t id = 0; id < end_token(); ++id)
      if (is_allowed(mask, id) && bytes_of(id).size() > bytes_of(best).size() &&
          text.starts_with(bytes_of(id)))
        best = id;
    return best;
  }

  Json time(const std::string& whole) const {
    ConstrainedText text(constraint_, {end_token()});
    std::vector<uint32_t> mask(text.words());
    Json times = Json::array();
    for (std::string_view rest = whole; !text.ended();) {
      const auto start = std::chrono::steady_clock::now();
      text.fill(mask);
      times.push_back(static_cast<double>((std::chrono::steady_clock::now() - start).count()) / 1000);
      const int32_t token = longest(mask, rest);
      if (!text.advance(token)) return {{"error", "the text does not match at " + std::string(rest)}};
      rest.remove_prefix(bytes_of(token).size());
    }
    return times;
  }

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const ConstraintTokens> tokens_;
  std::shared_ptr<Constraint> constraint_;
};

}  // namespace
}  // namespace smelt::structured

int main() {
  smelt::structured::Driver driver;
  for (std::string line; std::getline(std::cin, line);) {
    smelt::Json reply;
    try {
      reply = driver.reply(smelt::parse_ordered_json(line, "request"));
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << reply.dump(-1, ' ', true, smelt::Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
