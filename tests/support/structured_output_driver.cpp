// A server of grammars on standard input and output, for tests/python/check_structured_output.py: one JSON
// request per line, one JSON reply per line.
//   {"compile": KIND, "text": ..., "whitespace": N}  KIND: schema, regex, gbnf, choices, object, value
//   {"match": TEXT}                                  whether TEXT is whole, and whether it is a prefix
//   {"vocabulary": [BASE64, ...] or PATH}            tokens, by id, before the end token; PATH: lines of
//   base64, id
//   {"walk": SEED, "steps": N}                       a text of random allowed tokens
//   {"time": TEXT}                                   microseconds of each mask of TEXT in longest tokens
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>

#include "runtime/base/error.h"
#include "runtime/structured/gbnf.h"
#include "runtime/structured/json_schema.h"
#include "runtime/structured/matcher.h"
#include "runtime/structured/regex.h"
#include "runtime/structured/token_masks.h"
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
    masks_ =
        trie_ ? std::make_unique<TokenMasks>(automaton_, trie_, std::vector<uint32_t>{end_token()}) : nullptr;
    return {{"states", automaton_->states.size()}, {"microseconds", since(start)}};
  }

  Json match(const std::string& text) const {
    Matcher matcher(automaton_);
    const bool is_prefix = matcher.advance(text);
    return {{"prefix", is_prefix}, {"whole", is_prefix && matcher.can_end()}};
  }

  Json read_vocabulary(const nlohmann::ordered_json& source) {
    vocabulary_.clear();
    if (source.is_string()) {
      std::ifstream file(source.get<std::string>());
      for (std::string token, id; file >> token >> id;) vocabulary_.push_back(decode_base64(token).value());
    } else {
      for (const auto& token : source) vocabulary_.push_back(decode_base64(token.get<std::string>()).value());
    }
    vocabulary_.emplace_back();
    trie_ = std::make_shared<TokenTrie>(vocabulary_);
    return {{"tokens", vocabulary_.size()}, {"nodes", trie_->count()}};
  }

  uint32_t end_token() const { return static_cast<uint32_t>(vocabulary_.size() - 1); }
  static int64_t since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start)
        .count();
  }

  std::vector<uint32_t> allowed(const Matcher& matcher) {
    std::vector<uint64_t> mask(masks_->words());
    masks_->mask(matcher, mask);
    std::vector<uint32_t> ids;
    for (uint32_t id = 0; id < vocabulary_.size(); ++id)
      if (mask[id / 64] >> id % 64 & 1) ids.push_back(id);
    return ids;
  }

  /// After `steps` tokens, prefers those that close strings, lists and objects.
  Json walk(uint32_t seed, size_t steps) {
    std::mt19937 random(seed);
    Matcher matcher(automaton_);
    std::string text;
    for (size_t step = 0; step < 20 * steps; ++step) {
      std::vector<uint32_t> ids = allowed(matcher);
      if (ids.empty()) return {{"text", text}, {"dead", true}};
      uint32_t id = ids[random() % ids.size()];
      if (step > steps)
        for (const uint32_t other : ids)
          if (other == end_token() || vocabulary_[other] == "\"" || vocabulary_[other] == "]" ||
              vocabulary_[other] == "}")
            id = other;
      if (id == end_token()) return {{"text", text}, {"steps", step}};
      if (!matcher.advance(vocabulary_[id])) return {{"text", text}, {"dead", true}};
      text += vocabulary_[id];
    }
    return {{"text", text}, {"unfinished", true}};
  }

  Json time(const std::string& text) {
    Matcher matcher(automaton_);
    std::vector<uint64_t> mask(masks_->words());
    Json times = Json::array();
    for (size_t at = 0; at <= text.size();) {
      const auto start = std::chrono::steady_clock::now();
      masks_->mask(matcher, mask);
      times.push_back(static_cast<double>((std::chrono::steady_clock::now() - start).count()) / 1000);
      std::string best;
      for (uint32_t id = 0; id + 1 < vocabulary_.size() && at < text.size(); ++id)
        if ((mask[id / 64] >> id % 64 & 1) && vocabulary_[id].size() > best.size() &&
            text.compare(at, vocabulary_[id].size(), vocabulary_[id]) == 0)
          best = vocabulary_[id];
      if (at == text.size()) break;
      if (best.empty()) return {{"error", "the text does not match at byte " + std::to_string(at)}};
      matcher.advance(best);
      at += best.size();
    }
    return times;
  }

  std::shared_ptr<const Automaton> automaton_;
  std::vector<std::string> vocabulary_;
  std::shared_ptr<const TokenTrie> trie_;
  std::unique_ptr<TokenMasks> masks_;
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
