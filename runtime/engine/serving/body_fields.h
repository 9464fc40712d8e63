// BodyFields: the members of a JSON body, which are read one by one and checked.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

/// The members of the object that is a request's body. A member that is null counts as missing. All
/// functions throw ApiError (status 400) naming the member if it is wrong.
class BodyFields {
 public:
  /// Parses the body. Throws ApiError if it is no JSON object.
  explicit BodyFields(std::string_view body);

  /// Refuses members that are not in `known`.
  void require_known(std::initializer_list<std::initializer_list<const char*>> known) const;
  const Json* find(const char* name) const;  // null if the member is missing
  /// Returns the member. Throws ApiError if it is missing.
  const Json& required(const char* name) const;
  // Return the member as an integer from `least` to `most`, as a string, or as a boolean; nothing if it is
  // missing.
  std::optional<int64_t> whole(const char* name, int64_t least, int64_t most) const;
  std::optional<std::string> text(const char* name) const;
  std::optional<bool> flag(const char* name) const;

  /// Throws the ApiError for the member `name`, whose value is not as `expected` says.
  [[noreturn]] static void wrong(const char* name, const Json& value, const std::string& expected);

 private:
  Json body_;
};

}  // namespace smelt
