// Reads an object of tokenizer.json field by field and keeps a list of all that is not supported.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

/// Everything in the file that cannot be used, to be named at once.
class Problems {
 public:
  void add(std::string problem) { list_.push_back(std::move(problem)); }
  /// Throws Error (invalid_file) if there is any.
  void require_none(std::string_view file) const;

 private:
  std::vector<std::string> list_;
};

/// An object at `place`, such as "pre_tokenizer.pretokenizers[0]". A field that is read by none is a problem.
class PartReader {
 public:
  PartReader(const Json& json, std::string place, Problems& problems);
  PartReader(const PartReader&) = delete;
  PartReader& operator=(const PartReader&) = delete;
  ~PartReader();

  /// "" where there is none.
  const std::string& type() const { return type_; }
  const std::string& place() const { return place_; }
  Problems& problems() { return problems_; }
  void unsupported_type();
  void problem(std::string_view name, std::string_view expected);

  /// Null for a field that is missing or null.
  const Json* find(std::string_view name);
  /// Fields that may be there and have no meaning here.
  void ignore(std::initializer_list<std::string_view> names);

  bool flag(std::string_view name, bool otherwise);
  std::string text(std::string_view name, std::string otherwise);
  std::optional<std::string> optional_text(std::string_view name);
  uint64_t count(std::string_view name, uint64_t otherwise);
  /// Exactly one code point.
  char32_t character(std::string_view name, char32_t otherwise);
  /// Places of an array's elements; nothing if it is none.
  const Json* list(std::string_view name);

 private:
  const Json& json_;
  std::string place_, type_;
  Problems& problems_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace smelt
