#include "compiler/server/api_keys.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/serving/api_error.h"

namespace smelt::server {
namespace {

constexpr std::string_view kScheme = "bearer ";

bool is_key_character(char c) { return c > ' ' && c <= '~'; }

bool begins_with_scheme(std::string_view value) {
  return value.size() > kScheme.size() &&
         std::ranges::equal(value.substr(0, kScheme.size()), kScheme,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

/// Returns the text after "Bearer "; nothing if the value has another form.
std::optional<std::string_view> bearer(const std::optional<std::string>& authorization) {
  if (!authorization || !begins_with_scheme(*authorization)) return std::nullopt;
  std::string_view key = std::string_view(*authorization).substr(kScheme.size());
  key.remove_prefix(std::min(key.find_first_not_of(' '), key.size()));
  return key;
}

/// Compares all characters in any case.
bool is_equal(std::string_view key, std::string_view given) {
  unsigned difference = key.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < key.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(key[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

void ApiKeys::add(std::string name, std::string text) {
  if (text.size() < kFewestCharacters || text.size() > kMostCharacters ||
      !std::ranges::all_of(text, is_key_character))
    fail("expected a key of {} to {} visible ASCII characters", kFewestCharacters, kMostCharacters);
  if (name.empty()) name = fmt::format("key {}", keys_.size() + 1);
  for (const Key& key : keys_) {
    if (key.text == text) fail("the key was given before");
    if (key.name == name) fail("the name '{}' was given before", name);
  }
  keys_.push_back({std::move(name), std::move(text)});
}

ApiKeys ApiKeys::load(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) fail_with(Status::io, "{}: the file of keys cannot be read", path.string());
  ApiKeys keys;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::vector<std::string> words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) continue;
    try {
      if (words.size() > 2) fail("expected KEY or NAME KEY");
      keys.add(words.size() == 2 ? words[0] : "", words.back());
    } catch (const Error& error) {
      fail("{}:{}: {}", path.string(), number, error.what());
    }
  }
  if (keys.empty()) fail("{}: expected at least one key, on a line of its own", path.string());
  return keys;
}

std::string ApiKeys::name_of(const std::optional<std::string>& authorization) const {
  if (empty()) return {};
  const Key* found = nullptr;
  if (const auto given = bearer(authorization))
    for (const Key& key : keys_)
      if (is_equal(key.text, *given)) found = &key;
  if (found) return found->name;
  throw ApiError(
      http::kUnauthorized,
      authorization ? "the key is none of this server's" : "expected the field Authorization: Bearer KEY", "",
      "invalid_api_key");
}

OpenRequests::Claim OpenRequests::open(const std::string& client) {
  std::shared_ptr<size_t>& count = counts_[client];
  if (!count) count = std::make_shared<size_t>(0);
  if (most_ > 0 && *count >= most_)
    throw ApiError(
        http::kTooMany,
        fmt::format("'{}' has {} open requests: expected at most {} at a time", client, *count, most_), "",
        "rate_limit_exceeded");
  ++*count;
  return {count.get(), [kept = count](const void*) { --*kept; }};
}

}  // namespace smelt::server
