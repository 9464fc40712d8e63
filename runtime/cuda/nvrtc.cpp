#include "runtime/cuda/nvrtc.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/error.h"
#include "runtime/base/in_parallel.h"
#include "runtime/cuda/cubin_cache.h"
#include "runtime/system/dynamic_library.h"

namespace smelt {
namespace {

/// The few functions of NVRTC that are called, as its documentation declares them.
struct Nvrtc {
  using Program = void*;
  int (*version)(int*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  NvrtcInfo info;
};

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

Nvrtc load_nvrtc() {
  Nvrtc n;
  try {
    const DynamicLibrary library("NVRTC", kNames);
    library.load(n.version, "nvrtcVersion"), library.load(n.error_string, "nvrtcGetErrorString");
    library.load(n.create, "nvrtcCreateProgram"), library.load(n.destroy, "nvrtcDestroyProgram");
    library.load(n.compile, "nvrtcCompileProgram");
    library.load(n.log_size, "nvrtcGetProgramLogSize"), library.load(n.log, "nvrtcGetProgramLog");
    library.load(n.cubin_size, "nvrtcGetCUBINSize"), library.load(n.cubin, "nvrtcGetCUBIN");
    n.version(&n.info.major, &n.info.minor);
    n.info.library = library.path();
    n.info.available = true;
  } catch (const Error& error) {
    n.info.problem = std::string(error.what()) +
                     "; install the CUDA toolkit, set CUDA_HOME, or pip install nvidia-cuda-nvrtc";
  }
  return n;
}

const Nvrtc& nvrtc() {
  static const Nvrtc loaded = load_nvrtc();
  return loaded;
}

/// Instructions of one architecture alone, such as wgmma, are to be had with an "a".
std::vector<std::string> compile_options(const CudaSource& source, int compute_capability) {
  const char* kind = source.only_capability != 0 ? "a" : "";
  if (source.only_capability != 0 && source.only_capability != compute_capability)
    fail("kernel {} is for sm_{} alone, not for sm_{}", source.name, source.only_capability,
         compute_capability);
  std::vector<std::string> options = {fmt::format("--gpu-architecture=sm_{}{}", compute_capability, kind),
                                      "--std=c++17", "--ptxas-options=-v", "--diag-suppress=177"};
  if (!source.contracts) options.emplace_back("--fmad=false");
  return options;
}

/// Comments do not change the code: the same kernel of another layer or model is found again.
std::string without_comments(const std::string& text) {
  std::string code;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (text.compare(begin, 2, "//") != 0) code.append(text, begin, end - begin);
    begin = end;
  }
  return code;
}

std::string cache_key(const CudaSource& source, const std::vector<std::string>& options) {
  std::string everything = fmt::format("nvrtc {}.{}\n", nvrtc().info.major, nvrtc().info.minor);
  for (const std::string& option : options) everything += option + "\n";
  return CubinCache::key(everything + without_comments(source.text));
}

/// Returns the largest number before `what` in ptxas's report: "0 bytes stack frame".
int number_before(std::string_view log, std::string_view what) {
  int most = 0;
  for (size_t at = log.find(what); at != std::string_view::npos; at = log.find(what, at + 1)) {
    size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    int number = 0;
    std::from_chars(log.data() + begin, log.data() + at, number);
    most = std::max(most, number);
  }
  return most;
}

CudaResources resources_of(std::string_view log) {
  CudaResources r;
  if (const size_t used = log.find("Used "); used != std::string_view::npos)
    std::from_chars(log.data() + used + 5, log.data() + log.size(), r.registers);
  r.stack_bytes = number_before(log, " bytes stack frame");
  r.spill_bytes =
      std::max(number_before(log, " bytes spill stores"), number_before(log, " bytes spill loads"));
  r.shared_bytes = number_before(log, " bytes smem");
  for (size_t at = log.find("(C75"); at != std::string_view::npos; at = log.find("(C75", at + 1))
    ++r.serial_products;
  return r;
}

class NvrtcProgram {
 public:
  explicit NvrtcProgram(const CudaSource& source) : source_(source) {
    check(nvrtc().create(&program_, source.text.c_str(), (source.name + ".cu").c_str(), 0, nullptr, nullptr));
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram() { nvrtc().destroy(&program_); }

  Cubin compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    const int status = nvrtc().compile(program_, static_cast<int>(words.size()), words.data());
    const std::string text = log();
    if (status != 0)
      fail_with(Status::internal, "kernel {}: NVRTC: {}:\n{}", source_.name, nvrtc().error_string(status),
                text);
    Cubin cubin;
    size_t size = 0;
    check(nvrtc().cubin_size(program_, &size));
    cubin.bytes.resize(size);
    check(nvrtc().cubin(program_, reinterpret_cast<char*>(cubin.bytes.data())));
    cubin.resources = resources_of(text);
    return cubin;
  }

 private:
  std::string log() {
    size_t size = 0;
    nvrtc().log_size(program_, &size);
    std::string text(size, '\0');
    nvrtc().log(program_, text.data());
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  void check(int status) {
    if (status != 0)
      fail_with(Status::internal, "kernel {}: NVRTC: {}", source_.name, nvrtc().error_string(status));
  }
  const CudaSource& source_;
  Nvrtc::Program program_ = nullptr;
};

Cubin compile_one(const CudaSource& source, const std::vector<std::string>& options,
                  const CubinCache& cache) {
  const std::string key = cache_key(source, options);
  std::optional<Cubin> cubin = cache.read(key);
  if (!cubin) {
    cubin = NvrtcProgram(source).compile(options);
    cache.write(key, *cubin);
  }
  return std::move(*cubin);
}

}  // namespace

bool is_lean(const CudaResources& r) {
  return r.stack_bytes == 0 && r.spill_bytes == 0 && r.serial_products == 0;
}

void require_lean(const CudaSource& source, const CudaResources& r) {
  if (is_lean(r)) return;
  fail_with(Status::internal,
            "kernel {}: its code has a stack frame of {} bytes, spills {} bytes ({} registers) and {} times "
            "waits for "
            "products: its schedule keeps too much in registers",
            source.name, r.stack_bytes, r.spill_bytes, r.registers, r.serial_products);
}

const NvrtcInfo& nvrtc_info() { return nvrtc().info; }

std::vector<Cubin> compile_cuda(const std::vector<CudaSource>& sources, int compute_capability) {
  if (!nvrtc().info.available) fail("{}", nvrtc().info.problem);
  const CubinCache cache(CubinCache::default_directory());
  std::vector<Cubin> cubins(sources.size());
  in_parallel(sources.size(), [&](size_t i) {
    cubins[i] = compile_one(sources[i], compile_options(sources[i], compute_capability), cache);
  });
  return cubins;
}

Cubin compile_cuda(const CudaSource& source, int compute_capability) {
  return std::move(compile_cuda(std::vector<CudaSource>{source}, compute_capability).front());
}

}  // namespace smelt
