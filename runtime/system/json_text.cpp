#include "runtime/system/json_text.h"

#include <vector>

#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

// Far above any description.
constexpr size_t kDeepest = 64;
constexpr size_t kLongestKey = 60;  // in messages
constexpr std::uintmax_t kLargestFile = 64u << 20;

/// Builds a document from the events of a parse and refuses faults that nlohmann's own reader accepts
/// silently.
template <typename T>
class Builder : public nlohmann::json_sax<T> {
 public:
  Builder(std::string_view text, std::string_view file) : text_(text), file_(file) {}
  T root;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(typename T::binary_t& value) override { return put(T::binary(std::move(value))); }
  bool start_object(size_t) override { return open(T::object()); }
  bool start_array(size_t) override { return open(T::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    const auto [member, is_new] = open_.back()->emplace(name, nullptr);
    if (!is_new)
      fail_with(Status::invalid_file, "'{}': the key '{}' appears twice in one object", file_,
                name.size() <= kLongestKey ? name : name.substr(0, kLongestKey) + "...");
    member_ = &member.value();
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    fail_broken_json(text_, file_);
  }

 private:
  T& place(T value) {
    if (open_.empty()) return root = std::move(value);
    if (open_.back()->is_object()) return *member_ = std::move(value);
    open_.back()->push_back(std::move(value));
    return open_.back()->back();
  }
  bool put(T value) {
    place(std::move(value));
    return true;
  }
  bool open(T container) {
    if (open_.size() == kDeepest)
      fail_with(Status::invalid_file, "'{}': JSON nested deeper than {} levels", file_, kDeepest);
    T& placed = place(std::move(container));
    open_.push_back(&placed);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_, file_;
  std::vector<T*> open_;  // the containers around the next value
  T* member_ = nullptr;   // of the innermost object: what the last key names
};

template <typename T>
T parse(std::string_view text, std::string_view file) {
  Builder<T> builder(text, file);
  T::sax_parse(text, &builder);
  return std::move(builder.root);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view file) { return parse<Json>(text, file); }

nlohmann::ordered_json parse_ordered_json(std::string_view text, std::string_view file) {
  return parse<nlohmann::ordered_json>(text, file);
}

Json parse_json_or_null(std::string_view text) try { return parse_json(text, ""); } catch (const Error&) {
  return nullptr;
}

Json read_json_file(const std::filesystem::path& path) {
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (!code && size > kLargestFile)
    fail_with(Status::invalid_file, "'{}': {} bytes, expected a text of at most {}", path.string(), size,
              kLargestFile);
  return parse_json(read_text_file(path), path.string());
}

std::string brief(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

std::string_view kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "a boolean";
  if (value.is_number_integer()) return "an integer";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "an object";
}

}  // namespace smelt
