// PartReader: reads an object of tokenizer.json field by field, and lists everything that is not supported.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

/// List of everything in a file that is invalid or not supported, for one Error.
class Problems {
 public:
  void add(std::string problem) { list_.push_back(std::move(problem)); }
  /// Throws Error (invalid_file) with all problems if there are any.
  void require_none(std::string_view file) const;

 private:
  std::vector<std::string> list_;
};

/// Reader of one JSON object. The destructor adds a problem for each field that was neither read nor ignored.
/// A function that reads a field with an invalid value also adds a problem, and returns the same as for a
/// missing field.
class PartReader {
 public:
  /// `place` is the path of the object in the file, for messages: "pre_tokenizer.pretokenizers[0]".
  PartReader(const Json& json, std::string place, Problems& problems);
  PartReader(const PartReader&) = delete;
  PartReader& operator=(const PartReader&) = delete;
  ~PartReader();

  /// Returns the field "type"; "" if the object has none.
  const std::string& type() const { return type_; }
  const std::string& place() const { return place_; }
  Problems& problems() { return problems_; }
  /// Adds a problem: type() is not supported. Other fields are ignored then.
  void unsupported_type();
  /// Adds a problem: the field `name` is missing or has another value than `expected`.
  void problem(std::string_view name, std::string_view expected);

  /// Returns a field; null if it is missing or JSON null.
  const Json* find(std::string_view name);
  /// Allows these fields, and ignores their values.
  void ignore(std::initializer_list<std::string_view> names);

  // Return the value of a field; if it is missing, `otherwise`, or nothing (optional_text).
  bool flag(std::string_view name, bool otherwise);
  std::string text(std::string_view name, std::string otherwise);
  std::optional<std::string> optional_text(std::string_view name);
  uint64_t count(std::string_view name, uint64_t otherwise);
  /// The value is a string of exactly one code point.
  char32_t character(std::string_view name, char32_t otherwise);
  /// Returns a field that is an array. Adds a problem and returns null if it is missing or no array.
  const Json* list(std::string_view name);

 private:
  const Json& json_;
  std::string place_, type_;
  Problems& problems_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace smelt
