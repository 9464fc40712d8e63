// Checkpoint: a single file, or the shards that an index names.
#include <algorithm>
#include <map>
#include <set>

#include "runtime/engine/weights/gguf/gguf_model.h"
#include "runtime/engine/weights/packed/quantization.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/system/json_sax.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingle = "model.safetensors", kIndex = "model.safetensors.index.json";
constexpr size_t kMostNamed = 8;  // problems of one kind in one message

/// {"metadata": anything, "weight_map": {tensor: file}}
class IndexReader : public StrictSax {
 public:
  using StrictSax::StrictSax;
  std::map<std::string, std::string> weight_map;
  bool complete = false;

  bool start_object(size_t) override {
    if (skipping()) return deeper(1);
    if (depth_ == 0) return deeper(1);
    if (depth_ == 1 && key_ == "weight_map") return deeper(1);
    return unexpected("an object");
  }
  bool end_object() override {
    complete |= depth_ == 2 && !skipping();
    return deeper(-1);
  }
  bool start_array(size_t) override { return skipping() ? deeper(1) : unexpected("an array"); }
  bool end_array() override { return deeper(-1); }
  bool key(std::string& key) override {
    if (depth_ == 1) {
      if (!top_.insert(key).second) refuse_twice(key);
      key_ = key;
    } else if (!skipping()) {
      if (weight_map.count(key) != 0) refuse_twice(key);
      tensor_ = key;
    }
    return true;
  }
  bool string(std::string& file) override {
    if (skipping()) return true;
    if (depth_ != 2) return unexpected("a string");
    weight_map[tensor_] = file;
    return true;
  }
  bool null() override { return skipping() || unexpected("null"); }
  bool boolean(bool) override { return skipping() || unexpected("a boolean"); }
  bool number_integer(int64_t) override { return skipping() || unexpected("a number"); }
  bool number_unsigned(uint64_t) override { return skipping() || unexpected("a number"); }
  bool number_float(double, const std::string&) override { return skipping() || unexpected("a number"); }

 private:
  bool skipping() const { return depth_ >= 1 && !key_.empty() && key_ != "weight_map"; }
  bool deeper(int by) {
    depth_ += by;
    return true;
  }
  [[noreturn]] void refuse_twice(const std::string& key) const {
    fail_with(Status::invalid_file, "'{}': the key '{}' appears twice", file_, key);
  }
  std::string place() const override {
    return depth_ == 0 ? "expected an object with 'weight_map'"
                       : "weight_map, expected tensor names to file names";
  }

  int depth_ = 0;
  std::set<std::string> top_;
  std::string key_, tensor_;
};

bool is_plain(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

/// "a, b, c and 12 more"
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNamed) text += fmt::format(" and {} more", names.size() - kMostNamed);
  return text;
}

fs::path choose(const fs::path& directory) {
  std::error_code ignored;
  for (const std::string_view name : {kSingle, kIndex})
    if (fs::exists(directory / name, ignored)) return directory / name;
  const bool pickled = fs::exists(directory / "pytorch_model.bin", ignored);
  fail_with(Status::io, "'{}' has neither {} nor {}{}", directory.string(), kSingle, kIndex,
            pickled ? ": convert its pytorch_model.bin, which Smelt does not unpickle (in Python: "
                      "model.save_pretrained(directory, safe_serialization=True))"
                    : ": expected a directory with weights");
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& directory_or_file) {
  Checkpoint checkpoint;
  std::error_code ignored;
  const bool directory = fs::is_directory(directory_or_file, ignored);
  checkpoint.path_ = directory ? choose(directory_or_file) : directory_or_file;
  if (checkpoint.path_.string().ends_with(".index.json"))
    checkpoint.open_index(checkpoint.path_);
  else
    checkpoint.add_file(checkpoint.path_);
  checkpoint.unpack();
  checkpoint.sort();
  return checkpoint;
}

/// A model's weights are stored as the config.json next to them says.
void Checkpoint::unpack() {
  std::error_code ignored;
  const std::string name = path_.filename().string();
  const fs::path file = path_.parent_path() / "config.json";
  if ((name != kSingle && name != kIndex) || !fs::exists(file, ignored)) return;
  const Json config = read_json_file(file);
  if (!config.is_object() || config.value("quantization_config", Json(nullptr)).is_null()) return;
  UnpackedTensors unpacked = unpack_quantized(std::move(tensors_), config, path_.string());
  tensors_ = std::move(unpacked.tensors), warning_ = std::move(unpacked.warning);
}

Checkpoint Checkpoint::of(std::vector<HostTensor> tensors, fs::path path) {
  Checkpoint checkpoint;
  checkpoint.path_ = std::move(path);
  checkpoint.owned_ = std::move(tensors);
  for (const HostTensor& t : checkpoint.owned_)
    checkpoint.tensors_.push_back({t.name, t.dtype, t.shape, t.bytes});
  checkpoint.sort();
  return checkpoint;
}

Checkpoint Checkpoint::view(std::vector<TensorView> tensors, fs::path path) {
  Checkpoint checkpoint;
  checkpoint.path_ = std::move(path);
  checkpoint.tensors_ = std::move(tensors);
  checkpoint.sort();
  return checkpoint;
}

Checkpoint Checkpoint::joined(std::vector<std::shared_ptr<const Checkpoint>> parts) {
  Checkpoint checkpoint;
  std::map<std::string, TensorView> tensors;
  std::string path;
  for (const auto& part : parts) {
    for (const TensorView& tensor : part->tensors()) tensors.insert_or_assign(tensor.name, tensor);
    path += (path.empty() ? "" : " + ") + part->path().string();
  }
  for (auto& [name, tensor] : tensors) checkpoint.tensors_.push_back(std::move(tensor));
  checkpoint.path_ = path;
  checkpoint.parts_ = std::move(parts);
  return checkpoint;
}

void Checkpoint::add_file(const fs::path& path) {
  files_.emplace_back(path);
  if (is_gguf(files_.back().bytes())) return add_gguf(path);
  SafetensorsContents contents = parse_safetensors(files_.back().bytes(), path.string());
  std::move(contents.tensors.begin(), contents.tensors.end(), std::back_inserter(tensors_));
  metadata_.merge(contents.metadata);
}

void Checkpoint::add_gguf(const fs::path& path) {
  const GgufContents contents = parse_gguf(files_.back().bytes(), path.string());
  std::ranges::move(gguf_model_tensors(contents, path.string()), std::back_inserter(tensors_));
}

void Checkpoint::open_index(const fs::path& path) {
  const MappedFile file(path);
  const std::string file_name = path.string();
  IndexReader index({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, file_name);
  index.parse();
  if (!index.complete)
    fail_with(Status::invalid_file, "'{}': expected an object with 'weight_map'", file_name);
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, shard] : index.weight_map) {
    if (!is_plain(shard))
      fail_with(Status::invalid_file,
                "'{}': tensor '{}' is in '{}': expected the plain name of a file beside the index", file_name,
                tensor, shard);
    shards[shard].insert(tensor);
  }
  std::vector<std::string> missing, unexpected;
  for (auto& [shard, expected] : shards) {
    const size_t before = tensors_.size();
    add_file(path.parent_path() / shard);
    for (size_t i = before; i < tensors_.size(); ++i)
      if (expected.erase(tensors_[i].name) == 0) unexpected.push_back(tensors_[i].name + " in " + shard);
    for (const std::string& name : expected) missing.push_back(name + " in " + shard);
  }
  if (!missing.empty())
    fail_with(Status::invalid_file, "'{}': tensors that the index names are missing: {}", file_name,
              some_of(missing));
  if (!unexpected.empty())
    fail_with(Status::invalid_file, "'{}': tensors that the index does not place there: {}", file_name,
              some_of(unexpected));
}

void Checkpoint::sort() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const TensorView& tensor, std::string_view n) { return tensor.name < n; });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  for (const TensorView& tensor : tensors_) names.push_back(tensor.name);
  return names;
}

const TensorView& Checkpoint::at(std::string_view name) const {
  if (const TensorView* tensor = find(name)) return *tensor;
  fail_with(Status::invalid_file, "'{}' has no tensor '{}'", path_.string(), name);
}

}  // namespace smelt
