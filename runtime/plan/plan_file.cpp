#include "runtime/plan/plan_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/plan/plan_checks.h"
#include "runtime/plan/plan_model.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array<char, 8> kMagic = {'S', 'M', 'E', 'L', 'T', 'P', 'L', 'N'};
constexpr size_t kBlobAlignment = 64;
static_assert(std::endian::native == std::endian::little, "plan files are little-endian");

/// The first 64 bytes of a file.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t format = kPlanFormat;
  uint32_t reserved = 0;
  uint64_t file_bytes = 0;
  uint64_t manifest_bytes = 0;  // directly after the header
  uint64_t manifest_checksum = 0;
  uint64_t unused[2] = {0, 0};
  uint64_t header_checksum = 0;  // of all above
};
static_assert(sizeof(Header) == 64);

uint64_t checksum(Bytes bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

uint64_t own_checksum(const Header& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_checksum)));
}

size_t aligned(size_t at) { return (at + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment; }

/// Checksums as text: JSON readers of other languages lose the last bits of 64.
std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

[[noreturn]] void damaged(std::string_view file, std::string_view what) {
  fail_with(Status::invalid_file, "'{}': damaged plan: {}; compile it again", file, what);
}

Header read_header(Bytes file, std::string_view name) {
  Header header;
  if (file.size() < sizeof(Header) || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0)
    fail_with(Status::invalid_file, "'{}' is no plan: expected a file made by smelt compile", name);
  std::memcpy(&header, file.data(), sizeof(Header));
  if (header.format != kPlanFormat)
    fail_with(
        Status::invalid_file,
        "'{}' has plan format {}, this Smelt reads format {}: compile its model again with this version, as "
        "with smelt compile MODEL --mode=infer -o '{}'",
        name, header.format, kPlanFormat, name);
  if (header.header_checksum != own_checksum(header)) damaged(name, "the header's checksum is wrong");
  if (header.file_bytes != file.size())
    damaged(name, fmt::format("it has {} bytes: expected {}", file.size(), header.file_bytes));
  if (header.manifest_bytes > file.size() - sizeof(Header))
    damaged(name, "the manifest ends behind the file");
  return header;
}

void require_zeros(Bytes bytes, std::string_view name) {
  if (!std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
    damaged(name, "bytes between its parts are not zero");
}

/// Every blob begins at the next multiple of 64 bytes, so the list has its length only.
std::vector<Bytes> read_blobs(const nlohmann::json& list, Bytes file, size_t at, std::string_view name) {
  std::vector<Bytes> blobs;
  if (!list.is_array()) damaged(name, "expected a list of blobs");
  for (const nlohmann::json& item : list) {
    const bool typed =
        item.is_array() && item.size() == 2 && item[0].is_number_unsigned() && item[1].is_string();
    if (!typed) damaged(name, "expected [bytes, checksum] for every blob");
    const size_t begin = aligned(at), bytes = item[0].get<size_t>();
    if (begin > file.size() || bytes > file.size() - begin) damaged(name, "a blob ends behind the file");
    require_zeros(file.subspan(at, begin - at), name);
    blobs.push_back(file.subspan(begin, bytes));
    if (item[1].get_ref<const std::string&>() != hex(checksum(blobs.back())))
      damaged(name, fmt::format("the checksum of blob {} is wrong", blobs.size() - 1));
    at = begin + bytes;
  }
  if (at != file.size()) damaged(name, "bytes follow the last blob");
  return blobs;
}

/// Returns the checksums of the list that read_blobs has read.
std::vector<std::string> sums_of(const nlohmann::json& list) {
  std::vector<std::string> sums;
  for (const nlohmann::json& item : list) sums.push_back(item[1].get<std::string>());
  return sums;
}

std::string manifest_text(const Plan& plan, std::vector<Bytes>& blobs) {
  Manifest manifest = write_manifest(plan);
  blobs = std::move(manifest.blobs);
  nlohmann::json list = nlohmann::json::array();
  std::vector<std::string> sums;
  for (const Bytes blob : blobs) {
    sums.push_back(hex(checksum(blob)));
    list.push_back({blob.size(), sums.back()});
  }
  set_kernel_checksums(manifest.json, sums);
  try {
    return nlohmann::json{{"plan", std::move(manifest.json)}, {"blobs", std::move(list)}}.dump();
  } catch (const nlohmann::json::exception& error) {
    fail("the plan cannot be written: expected all names in UTF-8 ({})", error.what());
  }
}

}  // namespace

std::string serialize_plan(const Plan& plan) {
  validate(plan);
  std::vector<Bytes> blobs;
  const std::string manifest = manifest_text(plan, blobs);
  std::string file(sizeof(Header), '\0');
  file += manifest;
  for (const Bytes blob : blobs) {
    file.resize(aligned(file.size()), '\0');
    file.append(reinterpret_cast<const char*>(blob.data()), blob.size());
  }
  Header header;
  header.file_bytes = file.size();
  header.manifest_bytes = manifest.size();
  header.manifest_checksum = checksum(std::as_bytes(std::span(manifest)));
  header.header_checksum = own_checksum(header);
  std::memcpy(file.data(), &header, sizeof(Header));
  return file;
}

Plan parse_plan(Bytes file, std::string_view name) {
  const Header header = read_header(file, name);
  const Bytes manifest = file.subspan(sizeof(Header), header.manifest_bytes);
  if (checksum(manifest) != header.manifest_checksum) damaged(name, "the manifest's checksum is wrong");
  const Json root = parse_json({reinterpret_cast<const char*>(manifest.data()), manifest.size()}, name);
  if (!root.is_object() || !root.contains("plan") || !root.contains("blobs"))
    damaged(name, "the manifest is no JSON object with 'plan' and 'blobs'");
  const auto blobs = read_blobs(root["blobs"], file, sizeof(Header) + manifest.size(), name);
  try {
    Plan plan = read_manifest(root["plan"], blobs, name);
    check_kernel_checksums(root["plan"], sums_of(root["blobs"]), name);
    validate(plan);
    return plan;
  } catch (const Error& error) {
    const bool names_file = std::string_view(error.what()).starts_with(fmt::format("'{}'", name));
    if (names_file) throw;
    damaged(name, error.what());
  }
}

void save_plan(const Plan& plan, const std::filesystem::path& path) {
  write_file(path, serialize_plan(plan));
}

std::shared_ptr<const Plan> read_plan(std::span<const std::byte> file, std::string_view name) {
  auto plan = std::make_shared<const Plan>(parse_plan(file, name));
  log(LogLevel::info, "plan '{}' loaded: for {}, {} entries, {} kernels, {} bytes", name, plan->target,
      plan->entries.size(), plan->kernels.size(), file.size());
  return plan;
}

std::shared_ptr<const Plan> load_plan(const std::filesystem::path& path) {
  return read_plan(MappedFile(path).bytes(), path.string());
}

bool is_plan_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // reading from a pipe may never end
  std::array<char, kMagic.size()> magic{};
  std::ifstream in(path, std::ios::binary);
  return in.read(magic.data(), magic.size()) && magic == kMagic;
}

}  // namespace smelt
