#include "runtime/plan/plan_checks.h"

#include <span>

#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

using Json = nlohmann::json;

constexpr const char* kChecksum = "checksum";
constexpr const char* kBinary = "binary";  // the number of a blob, which stands for its bytes

class FieldSum {
 public:
  explicit FieldSum(const std::vector<std::string>& blobs) : blobs_(blobs) {}
  std::string hex() const { return sum_.hex(); }

  void add(const Json& value) {
    // Made as signed, whole numbers are read as unsigned.
    const auto type = value.is_number_integer() ? Json::value_t::number_integer : value.type();
    add_number(static_cast<uint64_t>(type));
    if (value.is_object()) return add_members(value);
    if (value.is_string()) return add_text(value.get_ref<const std::string&>());
    if (value.is_number_integer()) return add_number(static_cast<uint64_t>(value.get<int64_t>()));
    if (!value.is_array()) return add_text(value.dump());
    add_number(value.size());
    for (const Json& item : value) add(item);
  }

 private:
  /// Their number ends them; a checksum is of all others.
  void add_members(const Json& object) {
    uint64_t count = 0;
    for (const auto& [key, value] : object.items()) {
      if (key == kChecksum) continue;
      add_text(key);
      key == kBinary ? add_blob(value) : add(value);
      ++count;
    }
    add_number(count);
  }

  void add_blob(const Json& value) {
    const bool known = value.is_number_unsigned() && value.get<uint64_t>() < blobs_.size();
    add_text(known ? blobs_[value.get<size_t>()] : value.dump());
  }

  void add_number(uint64_t number) { sum_.add(std::as_bytes(std::span(&number, 1))); }
  void add_text(const std::string& text) {
    add_number(text.size());
    sum_.add(std::as_bytes(std::span(text)));
  }

  const std::vector<std::string>& blobs_;
  Checksum sum_;
};

Json member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? Json() : *found;
}

/// Returns the checksum of the symbols, target and features that all kernels of the plan were compiled for,
/// and of the machine code that they share.
std::string common_sum(const Json& plan, const std::vector<std::string>& blobs) {
  FieldSum sum(blobs);
  sum.add(Json{{"symbols", member(plan, "symbols")},
               {"target", member(plan, "target")},
               {"features", member(plan, "features")},
               {kBinary, member(plan, kBinary)}});
  return sum.hex();
}

std::string kernel_sum(const Json& kernel, const std::string& common, const std::vector<std::string>& blobs) {
  FieldSum sum(blobs);
  sum.add(kernel), sum.add(common);
  return sum.hex();
}

}  // namespace

void set_kernel_checksums(Json& plan, const std::vector<std::string>& blobs) {
  const std::string common = common_sum(plan, blobs);
  for (Json& kernel : plan["kernels"]) kernel[kChecksum] = kernel_sum(kernel, common, blobs);
}

void check_kernel_checksums(const Json& plan, const std::vector<std::string>& blobs, std::string_view file) {
  const std::string common = common_sum(plan, blobs);
  size_t number = 0;
  for (const Json& kernel : plan["kernels"]) {
    const std::string expected = kernel_sum(kernel, common, blobs);
    if (member(kernel, kChecksum) != expected)
      fail_with(Status::invalid_file,
                "'{}': damaged plan: kernels[{}] ('{}') is not as it was compiled: its checksum, of all its "
                "fields, its machine code and the plan's symbols, target and features, is {}: expected {}; "
                "compile it again",
                file, number, kernel["name"].get_ref<const std::string&>(), expected,
                member(kernel, kChecksum).dump());
    ++number;
  }
}

}  // namespace smelt
