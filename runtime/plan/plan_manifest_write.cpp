#include <cmath>

#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_model.h"

namespace smelt {
namespace {

using Json = nlohmann::json;

class ManifestWriter {
 public:
  std::vector<std::span<const std::byte>> blobs;

  Json encode(bool value) { return value; }
  Json encode(int value) { return value; }
  Json encode(int64_t value) { return value; }
  Json encode(uint32_t value) { return value; }
  Json encode(double value) {  // JSON has no infinities
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  Json encode(const std::string& value) { return value; }
  Json encode(Role value) { return name(value); }
  Json encode(DType value) { return name(value); }
  Json encode(AttentionPart value) { return name(value); }
  Json encode(CollectiveKind value) { return name(value); }
  Json encode(CollectiveSum value) { return name(value); }
  Json encode(TemplateLaunch::Argument::Kind value) { return name(value); }
  Json encode(const Initializer& value) { return str(value); }
  Json encode(const Dim& value) {
    if (const auto constant = value.constant()) return *constant;
    return value.str();
  }
  Json encode(const Symbols& value) { return encode(value.bounds()); }
  Json encode(const BufferRef& value) { return Json::array({value.buffer, encode(value.offset)}); }
  Json encode(const std::pair<int, int>& value) { return Json::array({value.first, value.second}); }
  Json encode(const std::vector<std::byte>& bytes) {
    if (bytes.empty()) return -1;
    blobs.emplace_back(bytes);
    return blobs.size() - 1;
  }
  template <typename T>
  Json encode(const std::vector<T>& items) {
    Json array = Json::array();
    for (const T& item : items) array.push_back(encode(item));
    return array;
  }
  template <typename T>
  Json encode(const std::optional<T>& value) {
    return value ? encode(*value) : Json();
  }
  template <typename... Kinds>
  Json encode(const std::variant<Kinds...>& what) {
    return std::visit(
        [&]<typename Kind>(const Kind& kind) {
          Json object = encode(kind);
          object["kind"] = StepKind<Kind>::name;
          return object;
        },
        what);
  }
  template <typename Struct>
  Json encode(const Struct& value) {
    Json object = Json::object();
    const auto field = [&](const char* name, const auto& member, const auto&...) {
      object[name] = encode(member);
    };
    visit_fields(field, value);
    return object;
  }
};

}  // namespace

Manifest write_manifest(const Plan& plan) {
  ManifestWriter writer;
  Json json = writer.encode(plan);
  return {std::move(json), std::move(writer.blobs)};
}

}  // namespace smelt
