#include "codegen/cpu/emit_llvm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/error.h"

LLD_HAS_DRIVER(elf)

namespace smelt {
namespace {

/// A file in memory that lld can open by its path.
class MemoryFile {
 public:
  explicit MemoryFile(llvm::ArrayRef<char> bytes) : descriptor_(memfd_create("smelt-object", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail_with(Status::io, "cannot create a file in memory for an object file");
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0)
        fail_with(Status::io, "cannot write an object file of {} bytes to memory", bytes.size());
      bytes = bytes.drop_front(static_cast<size_t>(written));
    }
  }
  MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

/// A folder of our own for lld's output (it renames a file into place), in memory where the system has such a
/// place.
class ScratchFolder {
 public:
  ScratchFolder() {
    for (const std::string& parent :
         {std::string("/dev/shm"), std::filesystem::temp_directory_path().string()}) {
      path_ = parent + "/smelt-XXXXXX";
      if (mkdtemp(path_.data()) != nullptr) return;
    }
    fail_with(Status::io, "cannot create a folder for the linker's output below /dev/shm or {}",
              std::filesystem::temp_directory_path().string());
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::vector<std::byte> read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(static_cast<size_t>(std::max<std::streamoff>(file.tellg(), 0)));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())) ||
      bytes.empty())
    fail_with(Status::io, "cannot read the linker's output '{}'", path);
  return bytes;
}

void run_lld(llvm::ArrayRef<std::string> arguments) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::vector<const char*> words;
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const bool linked = lld::elf::link(words, llvm::nulls(), stream, false, false);
  lld::CommonLinkerContext::destroy();
  if (!linked) fail_with(Status::internal, "linking the kernels failed: {}", messages);
}

}  // namespace

std::vector<std::byte> link_shared_object(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects) {
  const ScratchFolder folder;
  const std::string output = folder.file("kernels.so");
  std::vector<MemoryFile> files;
  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "--no-undefined",
                                        "--threads=1",
                                        "--build-id=none",
                                        "-z",
                                        "noexecstack",
                                        "-z",
                                        "now",
                                        "--hash-style=gnu",
                                        "--strip-all",
                                        "-o",
                                        output};
  for (const auto& object : objects) {
    files.emplace_back(object);
    arguments.push_back(files.back().path());
  }
  run_lld(arguments);
  return read_all(output);
}

}  // namespace smelt
