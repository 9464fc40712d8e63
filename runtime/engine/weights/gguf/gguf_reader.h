// GgufReader: reads little-endian numbers, strings and values one after another, and refuses what does not
// fit the file.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt {

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  /// Describes the current place in messages, such as "metadata 'general.name'".
  void enter(std::string place) { place_ = std::move(place); }
  uint64_t at() const { return at_; }
  uint64_t rest() const { return file_.size() - at_; }

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string text();
  /// Reads a number of elements, each of which takes at least `least` bytes of the file.
  uint64_t count(uint64_t least, std::string_view what);
  /// Reads a value of the format's type `type`. `depth`: arrays around it.
  Json value(uint32_t type, int depth = 0);

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(Status::invalid_file, "'{}': {}: {}", name_, place_,
              fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::span<const std::byte> take(uint64_t bytes);
  Json array(int depth);

  /// The most elements of all arrays: a few times those of the largest vocabularies.
  static constexpr uint64_t kMostElements = uint64_t{1} << 24;

  std::span<const std::byte> file_;
  std::string name_, place_ = "header";
  uint64_t at_ = 0, elements_ = 0;
};

}  // namespace smelt
